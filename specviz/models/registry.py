"""Every model that can be named, and the one door through which models are loaded.

Importing this loads no torch: a loader imports what it needs when it is called.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from threading import Lock

from specviz import verdict as verdicts
from specviz.files import cache_root, named_folder
from specviz.models import config_file, raven_label, room
from specviz.models.base import InputError, Model, Packable, Unsupported
from specviz.models.entries import BUILT_IN, DEPTH, HEAD, IMAGE, IMAGE_KINDS
from specviz.models.entries import Entry as Entry
from specviz.models.placing import DTYPES as DTYPES
from specviz.models.placing import resolve_device as resolve_device
from specviz.models.placing import resolve_dtype as resolve_dtype
from specviz.models.placing import toy_place
from specviz.models.room import needed as needed
from specviz.models.smol_boards import LABEL
from specviz.verdict import Verdict

log = logging.getLogger(__name__)

BOARDS = LABEL  # the packaged model that sees, though no photos
PACKED = "SPECVIZ_PACKED"  # the environment's switch for packed CPU weights
SHIPPED = Path(__file__).parent.parent.parent / "assets" / "verified"
LARGE = 3 * 2**30  # bytes of weights in a folder
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


_entries: dict[str, Entry] = dict(BUILT_IN)
Key = tuple[str, str, str, bool]  # label, device, dtype, packed
_loaded: dict[Key, Model] = {}
_large: set[Key] = set()
_locks: dict[Key, Lock] = {}
_guard = Lock()


def entries() -> tuple[Entry, ...]:
    """All known labels, the default model first."""
    return tuple(_entries.values())


def register(entry: Entry) -> None:
    """Add or replace a label; what was loaded under it is forgotten."""
    with _guard:
        _entries[entry.label] = entry
        for key in [k for k in _loaded if k[0] == entry.label]:
            del _loaded[key]


def loaded() -> tuple[tuple[str, str, str], ...]:
    """(label, device, dtype) of every model in memory."""
    with _guard:
        return tuple(dict.fromkeys(key[:3] for key in _loaded))


def forget(label_or_path: str, packed: bool | None = None) -> None:
    """Let go of what was loaded under a name, in any dtype (``packed``: only of such weights)."""
    label = find(label_or_path).label
    with _guard:
        for key in [k for k in _loaded if k[0] == label and packed in (None, k[3])]:
            del _loaded[key]


def results(label: str) -> tuple[Verdict, ...]:
    """What machines found out about a label, a hub id or a folder: shipped results, then adopted
    ones.

    A result does not tell where a folder was: a folder is known by its name, given as an absolute
    path and unless that is a label. Looks at no other place for ``label``; a damaged file counts
    as none.
    """
    place = os.path.expanduser(label)
    name = Path(place).name if os.path.isabs(place) else label
    if name in _entries and name != label:
        return ()
    found: dict[tuple[str, ...], Verdict] = {}
    for folder in (SHIPPED, adopted()):
        for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
            try:
                verdict = verdicts.load(path)
            except verdicts.VerdictError as error:
                log.warning("%s", error)
                continue
            if verdict.model == name:
                found[(verdict.machine, verdict.device, verdict.digest)] = verdict
    return tuple(found.values())


def adopted() -> Path:
    """Where results go that are to be known on this machine."""
    return cache_root() / "verified"


def load(
    label_or_path: str, device: str = "auto", dtype: str = "auto", packed: bool | None = None
) -> Model:
    """The model of a label, a local folder or a hub id; kept in memory and shared.

    ``packed``: lay out linear weights for this processor where that helps (None: yes, unless the
    environment variable SPECVIZ_PACKED is 0).
    Raises InputError for a name that leads nowhere or weights that cannot be had, Unsupported
    for a model, device or dtype that cannot serve.
    """
    entry = find(label_or_path)
    wanted = device
    if entry.kind == "toy":
        device, dtype = toy_place(entry, device, dtype)
    else:
        device = resolve_device(device)
        dtype = resolve_dtype(dtype, device, entry)
    if packed is None:
        packed = packing_wanted()
    packed = packed and entry.kind != "toy" and device == "cpu"
    key = (entry.label, device, dtype, packed)
    with _guard:
        lock = _locks.setdefault(key, Lock())
    with lock:
        model = _loaded.get(key)
        if model is None:
            problem = entry.problem()
            if problem is not None:
                raise Unsupported(problem)
            check_had(entry)
            # What must go may only go for a model that then fits.
            others = _in_the_way(key) if entry.large else {}
            room.check(entry, device, wanted, dtype, sum(others.values()))
            if others:
                _let_go(others)
                room.check(entry, device, wanted, dtype)
            model = entry.load(device, dtype)
            if packed and isinstance(model, Packable):
                model.pack()
            with _guard:
                _loaded[key] = model
                if entry.large:
                    _large.add(key)
        return model


def check_had(entry: Entry) -> None:
    """Raise InputError for weights that would be fetched where downloads are off."""
    if entry.state() == "offline":
        here = ", ".join(e.label for e in _entries.values() if e.state() == "here")
        raise InputError(
            f"The weights of {entry.label} are not on this disk and downloads are off "
            f"(HF_HUB_OFFLINE): choose {here}."
        )


def _in_the_way(key: Key) -> dict[Key, float]:
    """The large models other than that of ``key`` and the GB that each would leave to it: two of
    them seldom fit beside one another, be it the same one in two dtypes."""

    def weights(key: Key) -> Key:  # the same ones, however many iterations they run
        return (key[0].partition("@")[0], *key[1:])

    with _guard:
        others = {k: m for k, m in _loaded.items() if k in _large and weights(k) != weights(key)}
    found, counted = dict.fromkeys(others, 0.0), set()
    for other, model in others.items():
        # The memory of the machine helps a GPU too, that of another GPU does not.
        near = other[1] in ("cpu", key[1])
        if near and weights(other) not in counted:
            counted.add(weights(other))
            found[other] = room.taken(find(other[0]), other[2], model)
    return found


def _let_go(keys: Iterable[Key]) -> None:
    """Forget these large models."""
    with _guard:
        for key in keys:
            _loaded.pop(key, None)
            _large.discard(key)
    room.release()


def is_loaded(label: str) -> bool:
    """Whether a model of this label is in memory, in whatever dtype."""
    with _guard:
        return any(key[0] == label for key in _loaded)


def packing_wanted() -> bool:
    """Whether the environment leaves packed CPU weights on, as they are unless told otherwise."""
    return os.environ.get(PACKED, "1").strip().lower() not in ("0", "false", "no", "off")


def find(label_or_path: str) -> Entry:
    """The entry of a label, or one made for a folder or hub id; raises InputError.

    ``name@depth`` and ``name@depth-seeded`` run a recurrent-depth model otherwise than it was made
    to; Unsupported where there is no depth to choose.
    """
    name = label_or_path.strip()
    found = _known(name)
    if found is not None:
        return found
    base, at, spelled = name.rpartition("@")
    found = _known(base) if at else None
    if found is not None:
        return _at(found, spelled)
    raise InputError(
        f"There is no model {name[:80]!r}: choose {', '.join(_entries)}, a folder with a saved "
        "model, or a hub id such as owner/name."
    )


def _known(name: str) -> Entry | None:
    if name in _entries:
        return _entries[name]
    folder = named_folder(name)
    if folder is not None:
        return _folder_entry(folder)
    if HUB_ID.fullmatch(name):
        return Entry(
            label=name,
            title=name,
            load=lambda device, dtype: _from_hub(name, device, dtype),
            source=f"https://huggingface.co/{name}",
            supports=DEPTH | HEAD | IMAGE,  # as much as any may have: only loading tells
            mean=lambda: None,
            large=True,
        )
    return None


def _folder_entry(folder: Path) -> Entry:
    mean = raven_label.mean_recurrence(folder / "config.json")
    sees = config_file.model_type(folder / "config.json") in IMAGE_KINDS
    weights = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    return Entry(
        label=str(folder.resolve()),
        title=folder.name,
        load=lambda device, dtype: _from_folder(folder, device, dtype),
        kind="image" if sees else "text",
        source="local folder",
        supports=IMAGE if sees else HEAD if mean is None else DEPTH,
        mean=None if mean is None else lambda: mean,
        large=weights > LARGE,
    )


def _at(base: Entry, spelled: str) -> Entry:
    """``base`` with another number of iterations, on the same weights in memory."""
    if base.mean is None:
        raise raven_label.no_depth(base.label)
    known = base.mean()
    recurrence = raven_label.parse(spelled, known, base.label)
    label = f"{base.label}@{recurrence.spelled}"

    def deeper(device: str, dtype: str) -> Model:
        if known is None:  # better before gigabytes of weights are fetched than after
            recurrence.within(_hub_mean(base.label), base.label)
        model = load(base.label, device, dtype)
        if not isinstance(model, raven_label.Recurrent):
            raise raven_label.no_depth(base.label)
        return model.at(recurrence, label)

    def digest() -> str:
        own = base.digest()
        return recurrence.mark(own, known) if own and known is not None else ""

    return replace(
        base,
        label=label,
        title=f"{base.title}, {recurrence.spelled} iterations",
        load=deeper,
        digest=digest,
        mean=None,
    )


def _hub_mean(repo: str) -> int:
    from specviz.models.hf_hub import hub_config

    mean = raven_label.mean_recurrence(hub_config(repo)[0])
    if mean is None:
        raise raven_label.no_depth(repo)
    return mean


def _from_folder(folder: Path, device: str, dtype: str) -> Model:
    from specviz.models.hf_load import load_folder

    return load_folder(folder, device, dtype)


def _from_hub(repo: str, device: str, dtype: str) -> Model:
    from specviz.models.hf_load import load_hub

    return load_hub(repo, device, dtype)
