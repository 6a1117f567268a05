"""How the tower of ``smol-boards`` was made: ``python -m specviz.training.vlm tower --out DIR``.

A run goes on from the weights in ``--out``, which are all it needs; where there are none, from the
shipped ones in the folder ``--begin``, if that is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from specviz.models.base import InputError
from specviz.training.steps import History, Run, optimizers, train
from specviz.training.vlm_folder import unshipped
from specviz.training.vlm_symbols import NUMBER
from specviz.training.vlm_tower import Batch, Reader, batches, look, loss_of
from specviz.training.workers import Workers

WEIGHTS = "reader.safetensors"
GLANCE, LOOK = 48, 300
MEET_STEPS, MEET_RATE = 200, 1e-2  # in which new questions learn alone


def hidden(name: str) -> bool:
    """Whether a matrix lies inside the tower's layers."""
    return ".layers." in name


def train_tower(
    out: Path,
    minutes: float,
    rate: float,
    size: int,
    pages: float,
    drills: float,
    seed: int,
    say: Callable[[str], None],
    begin: Path | None = None,
) -> None:
    """Train for so many minutes, from the weights in ``out`` if any, else from those shipped in
    ``begin``, and save them in ``out``.

    ``size`` pictures make a batch, of them shares of ``pages`` and ``drills``; see ``batches``.
    """
    workers = Workers.join()
    torch.set_num_threads(max(1, torch.get_num_threads() // workers.count))
    torch.manual_seed(seed)
    reader, history = load(out, begin)
    stream = batches(seed + 1000 * workers.rank + int(1e6 * history.minutes), size, pages, drills)

    def loss(_: float) -> tuple[Tensor, int]:
        return loss_of(reader, next(stream)), size

    def keep(seen: History) -> None:
        if workers.rank == 0:
            save(reader, out, seen)
            show(reader, GLANCE, say)

    def tell(line: str) -> None:
        if workers.rank == 0:
            say(line)

    if begin is not None and history.tokens == 0:
        meet(reader, stream)
    steppers = optimizers(reader, rate, hidden)
    run = Run(minutes, rate, seed, pause=4.0)
    seen = train(reader, steppers, loss, run, history, keep, tell, workers=workers)
    workers.leave()
    if workers.rank == 0:
        save(reader, out, seen)
        show(reader, LOOK, say)


def meet(reader: Reader, stream: Iterator[Batch], steps: int = MEET_STEPS) -> None:
    """Let the questions of earlier layers, which are not shipped, learn alone what a trained tower
    knows: asked anew beside it, their first errors would undo it. With several workers each does
    so by itself, and their gradients meet from then on."""
    asked = [p for n, p in reader.named_parameters() if not n.startswith(("tower.", "says."))]
    stepper = torch.optim.AdamW(asked, lr=MEET_RATE, weight_decay=0.0)
    for step in range(steps):
        for group in stepper.param_groups:
            group["lr"] = MEET_RATE * (1 - step / steps)
        with torch.autocast("cpu", torch.bfloat16):
            found = loss_of(reader, next(stream), still=True)
        found.backward()  # type: ignore[no-untyped-call]
        stepper.step()
        reader.zero_grad()


def show(reader: Reader, count: int, say: Callable[[str], None]) -> None:
    """Say how much of ``count`` held-out pictures is read right."""
    found = look(reader, count)
    whole = " ".join(f"{kind} {share:.0%}" for kind, share in found.whole.items())
    say(
        f"held out, {count} pictures: said {found.said:.1%}, silent {found.silent:.2%}, "
        f"glyphs {found.glyphs:.1%}, ranks {found.ranks:.1%}, whole pictures: {whole}"
    )


def save(reader: Reader, out: Path, history: History) -> None:
    """Write the weights in float16, which is what they ship as; all or nothing."""
    out.mkdir(parents=True, exist_ok=True)
    state = {k: v.detach().to(torch.float16).contiguous() for k, v in reader.state_dict().items()}
    part = out / f".{WEIGHTS}"
    save_file(state, part)
    part.replace(out / WEIGHTS)
    history.write(out)


def load(out: Path, begin: Path | None = None) -> tuple[Reader, History]:
    """What is in ``out``, else what is shipped in ``begin``, else a new reader."""
    reader = Reader()
    if not (out / WEIGHTS).is_file():
        if begin is not None:
            _take(reader, begin)
        return reader, History()
    state = {k: v.float() for k, v in load_file(out / WEIGHTS).items()}
    reader.load_state_dict(state, strict=False)  # what only training asks may begin anew
    return reader, History.read(out)


@torch.no_grad()
def _take(reader: Reader, folder: Path) -> None:
    """Give ``reader`` the shipped weights; what ``ship`` drops (the questions of earlier layers,
    units without a symbol) stays as new. Raises InputError when they are of another shape."""
    tower, says = unshipped(folder)
    own = reader.state_dict()
    found = tower | says
    for name in sorted(own.keys() | found.keys()):
        if not name.startswith(("tower.", "says.")):
            continue
        part, mine = found.get(name), own.get(name)
        units = slice(len(NUMBER)) if name in says else slice(None)
        if part is None or mine is None or part.shape != mine[units].shape:
            raise InputError(f"{folder.name} is no tower of this shape ({name}): train a new one.")
        mine[units] = torch.where(part.isnan(), mine[units], part.float())
