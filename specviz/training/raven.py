"""Trains ``tiny-raven``: ``python -m specviz.training.raven --school gsm8k_train.jsonl``.

A run starts from the weights in ``--out`` when there are some (weights alone: no optimizer state
is kept), warms up, holds its rate and decays it to nothing within ``--minutes``, so that whatever
it leaves is in final form. ``--look`` prints the depth curves of those weights and trains nothing.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import torch
import torch.nn.functional as F
import typer
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor

from specviz.models.raven_net import Attend, Raven, RavenConfig, causal, rotary_table
from specviz.training.raven_documents import COMPOSED, Document, Kind, held_out, make
from specviz.training.raven_chat import write_tokenizer_config
from specviz.training.raven_text import (
    ASSISTANT,
    PAD,
    Batch,
    Mixture,
    batches,
    build_tokenizer,
    encode,
    school,
)

SHARES: dict[Kind, float] = {
    "school": 0.16,
    "words": 0.18,
    "code": 0.12,
    "chain": 0.24,
    "places": 0.12,
    "nested": 0.18,
}
CONFIG = RavenConfig(
    n_embd=256,
    n_heads=8,
    n_layers_in_prelude=1,
    n_layers_in_recurrent_block=1,
    n_layers_in_coda=1,
    intermediate_size=704,
    vocab_size=2048,
    block_size=512,
    mean_recurrence=32,
)
BACKPROP = 8  # iterations that gradients flow through, the last ones


def draw_depth(rng: random.Random, mean: float, spread: float = 0.5) -> int:
    """Iterations of one batch: log-normal Poisson (arXiv 2502.05171, 3.3), at least 1."""
    rate = math.exp(rng.gauss(math.log(mean) - spread**2 / 2, spread))
    limit, product, count = math.exp(-rate), rng.random(), 0
    while product > limit:
        product, count = product * rng.random(), count + 1
    return min(count + 1, 3 * round(mean))


def forward(
    net: Raven, tokens: Tensor, mask: Tensor | None, depths: list[int], noise: float, backprop: int
) -> list[Tensor]:
    """Logits [b, t, V] after each of ``depths`` iterations (ascending).

    Gradients flow through the last ``backprop`` of them; ``noise`` scales the initial state.
    """
    config = net.config
    rotary = rotary_table(config, tokens.shape[1], torch.float32)

    def masked(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    attend: Attend = causal if mask is None else masked
    embedded = net.embed(tokens)
    for block in net.transformer.prelude:
        embedded = block(embedded, rotary, attend)
    state = torch.randn_like(embedded) * config.state_std * noise
    found = []
    for age in range(1, depths[-1] + 1):
        with torch.set_grad_enabled(torch.is_grad_enabled() and age > depths[-1] - backprop):
            state = net.inject(state, embedded)
            for block in net.transformer.core_block:
                state = block(state, rotary, attend)
        if age in depths:
            out = net.transformer.ln_f(state)
            for block in net.transformer.coda:
                out = block(out, rotary, attend)
            found.append(net.read(out))
    return found


def loss_of(net: Raven, batch: Batch, depth: int, noise: float) -> Tensor:
    """Weighted mean cross-entropy of one batch, nats."""
    logits = forward(net, batch.tokens[:, :-1], batch.mask, [depth], noise, BACKPROP)[0]
    losses = F.cross_entropy(
        logits.float().flatten(0, 1), batch.tokens[:, 1:].flatten(), reduction="none"
    )
    weights = batch.weights.flatten()
    return (losses * weights).sum() / weights.sum()


def optimizers(net: Raven, rate: float) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside, AdamW for embedding, norms and biases."""
    matrices = [p for n, p in net.named_parameters() if p.ndim == 2 and "wte" not in n]
    rest = [p for n, p in net.named_parameters() if p.ndim != 2 or "wte" in n]
    muon = torch.optim.Muon(
        matrices, lr=rate, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"
    )
    # Embeddings that jump about cannot be matched with one another.
    adam = torch.optim.AdamW(rest, lr=rate, betas=(0.9, 0.98), weight_decay=0.0)
    for optimizer, share in ((muon, 1.0), (adam, 0.2)):
        for group in optimizer.param_groups:
            group["share"] = share
    return [muon, adam]


def initialise(net: Raven) -> None:
    """Normal weights of deviation sqrt(2 / 5d), as the paper does."""
    std = math.sqrt(2 / (5 * net.config.n_embd))
    for name, p in net.named_parameters():
        if p.ndim == 2:
            torch.nn.init.normal_(p, std=std)
            if name.endswith("proj.weight"):
                p.data.mul_(0.2)


def save(net: Raven, out: Path, history: dict[str, float]) -> None:
    """Weights in bfloat16, their sizes and how much they have seen."""
    out.mkdir(parents=True, exist_ok=True)
    kept = {
        n: p.detach().to(torch.bfloat16).contiguous()
        for n, p in net.state_dict().items()
        if n != "lm_head.weight"
    }
    save_file(kept, out / "model.safetensors", metadata={"format": "pt"})
    facts = {
        "model_type": "huginn_raven",
        "architectures": ["RavenForCausalLM"],
        "tie_embeddings": True,
        "qk_bias": True,
        "injection_type": "linear",
        "state_init": "zero",
        "bos_token_id": 1,
        "eos_token_id": 4,
        "pad_token_id": 0,
        **asdict(net.config),
    }
    (out / "config.json").write_text(json.dumps(facts, indent=1) + "\n")
    write_tokenizer_config(out)
    (out / "history.json").write_text(json.dumps(history, indent=1) + "\n")


def load(out: Path) -> tuple[Raven, dict[str, float]]:
    """The network in ``out``, or a fresh one, and what it has seen."""
    net = Raven(CONFIG)
    if not (out / "model.safetensors").exists():
        initialise(net)
        return net, {"tokens": 0, "minutes": 0, "documents": 0}
    found = net.load_state_dict(load_file(out / "model.safetensors"), strict=False)
    if found.unexpected_keys or found.missing_keys not in ([], ["lm_head.weight"]):
        raise SystemExit(f"these weights do not fit: {found}")
    return net, json.loads((out / "history.json").read_text())


def tokenizer_in(out: Path, path: Path) -> Tokenizer:
    """The tokenizer beside the weights, trained first where there is none."""
    file = out / "tokenizer.json"
    if not file.exists():
        rng = random.Random(1)
        rows = [d for d in school(path) if not held_out(d.user)]
        for kind in SHARES:
            rows += [make(kind, rng) for _ in range(2500)] if kind != "school" else []
        out.mkdir(parents=True, exist_ok=True)
        build_tokenizer(rows, CONFIG.vocab_size).save(str(file))
    return Tokenizer.from_file(str(file))


def train(
    net: Raven, mixture: Mixture, stream: Iterator[Batch], minutes: float, rate: float, mean: float,
    longest: int, start: tuple[int, float], out: Path, history: dict[str, float], seed: int,
    noise: float,
) -> None:
    """Train for ``minutes``; the rate decays over the last third of them."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    steppers = optimizers(net, rate)
    began = last = time.monotonic()
    seen, step, mean_loss = history["tokens"], 0, 0.0
    net.train()
    while (spent := (time.monotonic() - began) / 60) < minutes:
        grown = min(1.0, 1.5 * spent / minutes)
        mixture.longest = round(start[0] + (longest - start[0]) * grown)
        scale = min(1.0, (step + 1) / 100, max(0.0, 3 * (1 - spent / minutes)))
        for o in steppers:
            for group in o.param_groups:
                group["lr"] = rate * scale * group["share"]
        batch = next(stream)
        depth = draw_depth(rng, start[1] + (mean - start[1]) * grown)
        with torch.autocast("cpu", torch.bfloat16):
            loss = loss_of(net, batch, depth, float(rng.random() < noise))
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        for o in steppers:
            o.step()
            o.zero_grad()
        step += 1
        history["tokens"] += batch.weights.numel()
        mean_loss = 0.98 * mean_loss + 0.02 * loss.item() if step > 1 else loss.item()
        if step % 50 == 0:
            rate_now = (history["tokens"] - seen) / (time.monotonic() - began)
            print(f"{spent:6.1f} min  step {step}  loss {mean_loss:.3f}  {rate_now:.0f} tok/s", flush=True)
        if time.monotonic() - last > 600:
            last = time.monotonic()
            save(net, out, history | {"minutes": history["minutes"] + spent})
            look(net, Tokenizer.from_file(str(out / "tokenizer.json")), None, short=True)
            net.train()
    history["minutes"] += minutes
    save(net, out, history)


@torch.no_grad()
def readouts(net: Raven, rows: list[list[int]], depths: list[int]) -> list[Tensor]:
    """Argmax [depths, t] of every row after each of ``depths`` iterations from a zero state."""
    found: list[Tensor] = []
    for at in range(0, len(rows), 16):
        part = rows[at : at + 16]
        width = max(map(len, part))
        tokens = torch.tensor([r + [PAD] * (width - len(r)) for r in part])
        with torch.autocast("cpu", torch.bfloat16):
            logits = forward(net, tokens, None, depths, 0.0, 0)
        picks = torch.stack([x.argmax(-1) for x in logits], 1)
        found += [p[:, : len(r)] for p, r in zip(picks, part, strict=True)]
    return found


def first_answer(reply: list[int], tokenizer: Tokenizer, kind: Kind) -> int:
    """Where in the reply tokens of a composed task the first answer stands."""
    return reply.index(tokenizer.token_to_id(":" if kind == "places" else "=")) + 1


@torch.no_grad()
def look(net: Raven, tokenizer: Tokenizer, path: Path | None, short: bool = False) -> None:
    """Print, per kind, agreement with depth 32 on replies and how many are right, by depth."""
    net.eval()
    depths = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]
    kinds: list[Kind] = [*COMPOSED, "words", "code"]
    rng = random.Random(10_000)
    sets: dict[Kind, list[Document]] = {}
    for kind in kinds:
        rows: list[Document] = []
        while len(rows) < (40 if short else 150):
            document = make(kind, rng)
            if held_out(document.user):
                rows.append(document)
        sets[kind] = rows
    if path is not None:
        sets["school"] = [d for d in school(path) if held_out(d.user)][:150]
    print("kind      " + "".join(f"{d:>13}" for d in depths))
    for kind, rows in sets.items():
        agree, right, total = dict.fromkeys(depths, 0), dict.fromkeys(depths, 0), 0
        first, firsts = dict.fromkeys(depths, 0), 0
        encoded = [encode(tokenizer, document)[0][:512] for document in rows]
        for ids, out in zip(encoded, readouts(net, encoded, depths), strict=True):
            at = ids.index(ASSISTANT)
            want, answer = torch.tensor(ids[at + 1 :]), out[:, at:-1]
            total += len(want)
            for i, d in enumerate(depths):
                agree[d] += int((answer[i] == answer[-1]).sum())
                right[d] += int((answer[i] == want).sum())
            if kind in COMPOSED:  # the first answer is the deepest
                mark = first_answer(ids[at + 1 :], tokenizer, kind)
                firsts += 1
                for i, d in enumerate(depths):
                    first[d] += int(answer[i, mark] == want[mark])
        line = "".join(f"{agree[d] / total:6.1%}{right[d] / total:7.1%}" for d in depths)
        print(f"{kind:10}{line}")
        if firsts:
            print("   deepest" + "".join(f"{first[d] / firsts:13.1%}" for d in depths), flush=True)


def main(
    path: Annotated[Path, typer.Option("--school", help="GSM8K questions and answers, JSON lines")],
    out: Path = Path("assets/models/tiny-raven"),
    kinds: Annotated[str, typer.Option(help="train on these kinds only, as a,b,c")] = "",
    minutes: float = 60.0,
    rate: float = 3e-3,
    mean: float = 16.0,
    longest: int = 10,
    from_mean: float = 0.0,
    from_longest: int = 0,
    rows: int = 8,
    width: int = 384,
    seed: int = 1,
    noise: Annotated[float, typer.Option(help="share of batches from random states")] = 0.5,
    look_only: Annotated[bool, typer.Option("--look")] = False,
) -> None:
    """Train for so many minutes, from the weights in ``--out`` if any; then look at them."""
    net, history = load(out)
    tokenizer = tokenizer_in(out, path)
    if not look_only:
        shares = {k: v for k, v in SHARES.items() if not kinds or k in kinds.split(",")}
        mixture = Mixture(path, shares, longest, seed)
        stream = batches(tokenizer, mixture, rows, width)
        start = (from_longest or longest, from_mean or mean)
        train(net, mixture, stream, minutes, rate, mean, longest, start, out, history, seed, noise)
        net, _ = load(out)
    look(net, tokenizer, path)


if __name__ == "__main__":
    typer.run(main)
