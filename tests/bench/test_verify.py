"""The acceptance kit answers every question, finds what is wrong, and leaves a whole file."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from specviz import verdict as verdicts
from specviz.audit import audit
from specviz.bench import trial, verify
from specviz.bench.race import race
from specviz.bench.reported import reported
from specviz.bench.verify import Plan, Trial
from specviz.cli import main
from specviz.models import probe, registry
from specviz.models.base import InputError, Unsupported
from specviz.models.entries import TREE
from specviz.models.hf_load import VERIFIED
from specviz.models.hf_pack import PackedLinear
from specviz.tracefile import load as load_trace
from specviz.verdict import Equality, Passes, Row, Speed, Verdict
from tests.models import tiny, tiny_vision

ROOT = Path(__file__).parents[2]
TITLES = ["recap", "token_recycling", "token_recycling best_first", "prompt_lookup",
          "autoregressive"]  # fmt: skip


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(registry, "_loaded", {})
    monkeypatch.setattr(trial, "TOKENS", 12)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny random checkpoint of an architecture."""

    def make(architecture: str) -> Path:
        folder = tmp_path_factory.getbasetemp() / f"tiny-{architecture}"
        if not folder.is_dir():
            tiny.net(architecture, "sdpa", torch.float32).save_pretrained(folder)
            tiny.tokenizer().save_pretrained(folder)
        return folder

    return make


def verified(*arguments: str) -> tuple[int, Verdict, Path]:
    out = Path("out")
    code = main(["verify", "--out", str(out), *arguments])
    return code, verdicts.load(out / "verify.json"), out


def rows(verdict: Verdict, part: str) -> list[Row]:
    return [row for row in verdict.rows if row.part == part]


def states(verdict: Verdict, part: str) -> list[str]:
    return [row.state for row in rows(verdict, part)]


def test_the_toy_is_measured_against_its_own_loop(capsys: pytest.CaptureFixture[str]) -> None:
    code, verdict, out = verified("--model", "toy", "--quick")
    assert code == 0
    assert (verdict.model, verdict.device, verdict.quick, verdict.held) == (
        "toy", "cpu", True, True,
    )  # fmt: skip
    equal = [row for row in verdict.rows if isinstance(row, Equality)]
    assert [(r.decoder, r.reference, r.identical, r.prompts) for r in equal[:4]] == [
        (title, "own loop", 3, 3) for title in TITLES[:4]
    ]
    assert (equal[4].state, equal[4].why) == (
        "skipped", "This is the reference itself: transformers has no such model.",
    )  # fmt: skip
    peer = next(r for r in verdict.rows if isinstance(r, Speed) and r.decoder == "generate")
    assert peer.why == "transformers has no model toy: choose a model with weights."
    assert states(verdict, "tree") == ["skipped"] and states(verdict, "costs") == ["skipped"]
    for row in rows(verdict, "example"):
        assert audit(load_trace(out / row.file)) == ()
    printed = capsys.readouterr().out
    assert "3 of 3 prompts identical to plain decoding (36 tokens)" in printed
    assert "no reported figure for this model" in printed and "all that could run held" in printed
    assert "| ✓ | recorded run | recap | float64 | recap.jsonl.gz |" in (
        out / "verify.md"
    ).read_text("utf-8")


def whole(folder: Path, *arguments: str) -> Verdict:
    code, verdict, out = verified("--model", str(folder), "--dtype", "float32", *arguments)
    assert code == 0, [row for row in verdict.rows if row.state == "failed"]
    assert verdict.model == folder.name
    assert str(folder.parent) not in (out / "verify.json").read_text("utf-8")
    assert states(verdict, "tree") == ["held"]
    for row in (row for row in verdict.rows if isinstance(row, Equality)):
        assert (row.reference, row.identical, row.tied) == ("generate", row.prompts, 0)
        assert row.prompts == 3 and row.tokens > 3
    for row in rows(verdict, "example"):
        assert audit(load_trace(out / row.file)) == ()
    speeds = {r.decoder: r for r in verdict.rows if isinstance(r, Speed) and r.state == "held"}
    assert {"autoregressive", "generate"} <= set(speeds)
    assert speeds["autoregressive"].speedup == 1.0 and speeds["autoregressive"].tau == 1.0
    return verdict


def test_a_checkpoint_in_a_folder(checkpoint: Callable[[str], Path]) -> None:
    verdict = whole(checkpoint("llama"), "--quick", "--decoder", "recap")
    assert verdict.facts["architecture"] == "llama"
    net = tiny.net("llama")
    assert verdict.facts["parameters"] == sum(p.numel() for p in net.parameters())
    assert verdict.facts["kv_bytes_per_token"] == 2 * 2 * 2 * 8 * 4
    costs = {(r.context, r.packed): r for r in rows(verdict, "costs")}
    assert costs[2000, True].why == (
        "The context of tiny-llama ends at 512: too short for 2000 tokens and a pass."
    )
    measured = next(r for r in costs.values() if r.state == "held")
    assert measured.context == 100 and measured.costs.rows[0] == 1


def test_a_toy_that_sees_is_asked_about_pictures_every_other_time() -> None:
    found = Trial("toy-signs", "cpu", "float64", True, Path())
    asked = found.prompts()
    assert [len(prompt.pictures) for prompt, _ in asked] == [1, 0, 1]
    assert [len(inputs.pictures) for _, inputs in asked] == [1, 0, 1]
    code, verdict, out = verified("--model", "toy-signs", "--quick", "--decoder", "recap")
    assert code == 0
    (row,) = (row for row in verdict.rows if isinstance(row, Equality))
    assert (row.state, row.identical, row.prompts) == ("held", 3, 3)
    (example,) = rows(verdict, "example")
    assert [p.name for p in load_trace(out / example.file).run().header.pictures] == [
        asked[0][0].pictures[0].name
    ]


@pytest.mark.parametrize("architecture", ["llava", "qwen2_5_vl"])
def test_an_image_text_checkpoint_is_compared_with_generate_on_pictures(
    architecture: str, tmp_path: Path
) -> None:
    folder = tmp_path / f"sees-{architecture}"
    made = tiny_vision.net(architecture, torch.float32)
    made.config.get_text_config().max_position_embeddings = 2048
    made.save_pretrained(folder)
    tiny_vision.tokenizer(tiny_vision.template(architecture)).save_pretrained(folder)
    tiny_vision.processor(architecture).save_pretrained(folder)
    verdict = whole(folder, "--quick", "--decoder", "recap")
    (row,) = (row for row in verdict.rows if isinstance(row, Equality))
    assert (row.identical, row.prompts) == (3, 3)
    speed = next(r for r in verdict.rows if isinstance(r, Speed) and r.decoder == "generate")
    assert speed.state == "held"


@pytest.mark.proof
@pytest.mark.parametrize("architecture", ["qwen2", "qwen3", "gemma3", "mistral"])
def test_every_class_that_is_trusted_when_loaded(
    architecture: str, checkpoint: Callable[[str], Path]
) -> None:
    verdict = whole(checkpoint(architecture), "--quick")
    assert verdict.facts["architecture"] in VERIFIED
    assert [r.decoder for r in rows(verdict, "equality")] == TITLES


@pytest.mark.proof
def test_a_whole_run_takes_the_second_dtype_too(checkpoint: Callable[[str], Path]) -> None:
    code, verdict, _ = verified("--model", str(checkpoint("llama")))
    assert code == 0
    half = [r for r in verdict.rows if isinstance(r, Equality) and r.dtype == "bfloat16"]
    assert [r.state for r in half] == ["held"] * 5
    assert all(r.identical + r.tied == r.prompts for r in half)
    assert {r.dtype for r in rows(verdict, "example")} == {"float32"}


def test_another_text_than_generates_does_not_hold(
    checkpoint: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Trial._reference

    def other(self: Trial, prompt: str, inputs: object) -> tuple[int, ...]:
        tokens = honest(self, prompt, inputs)
        return (*tokens[:2], (tokens[2] + 1) % 256, *tokens[3:])

    monkeypatch.setattr(Trial, "_reference", other)
    for dtype in ("float32", "bfloat16"):
        code, verdict, _ = verified(
            "--model", str(checkpoint("llama")), "--dtype", dtype, "--quick",
            "--decoder", "prompt_lookup",
        )  # fmt: skip
        assert code == 3
        (row,) = (r for r in verdict.rows if isinstance(r, Equality))
        assert (row.state, row.identical, row.tied) == ("failed", 0, 0)
        assert row.why.startswith(
            "Differs from generate: prompt 1 from token 3 on by more than rounding, prompt 2 from"
        )
        assert states(verdict, "speed") == ["held"] * 3


def test_a_part_that_breaks_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Trial, row: Row, variant: object) -> Row:
        raise RuntimeError("/secret/path")

    monkeypatch.setattr(Trial, "example", broken)
    code, verdict, out = verified("--model", "toy", "--quick", "--decoder", "recap")
    assert code == 3
    (row,) = rows(verdict, "example")
    assert (row.state, row.why) == (
        "failed", "It did not run to its end (RuntimeError); the log says where.",
    )  # fmt: skip
    assert states(verdict, "equality") == ["held"]
    assert "secret" not in (out / "verify.json").read_text("utf-8")


def test_a_dtype_that_does_not_fit_is_said_in_its_rows(
    checkpoint: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, asked = registry.load, []

    def small(name: str, device: str = "auto", dtype: str = "auto", packed: bool | None = None):
        asked.append(dtype)
        if dtype == "bfloat16":
            raise Unsupported("It does not fit.")
        return honest(name, device, dtype, packed)

    monkeypatch.setattr(registry, "load", small)
    code, verdict, _ = verified(
        "--model", str(checkpoint("llama")), "--quick", "--decoder", "recap",
        "--dtype", "float32", "--dtype", "bfloat16",
    )  # fmt: skip
    assert code == 0 and asked.count("bfloat16") == 1
    half = [row for row in verdict.rows if row.dtype == "bfloat16"]
    assert {row.why for row in half} == {"It does not fit."}
    assert {row.state for row in half} == {"skipped"}


def test_an_interrupt_leaves_what_was_found(tmp_path: Path) -> None:
    script = (
        "import sys; from specviz.bench.trial import Trial; from specviz.cli import main\n"
        "import os, signal\n"
        # A shell's job in the background ignores interrupts, and so would this.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def stop(self, row, variant): os.kill(os.getpid(), signal.SIGINT)\n"
        "Trial.equality = stop\n"
        "sys.exit(main(['verify', '--model', 'toy', '--quick', '--out', 'cut']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 128 + signal.SIGINT
    verdict = verdicts.load(tmp_path / "cut" / "verify.json")
    assert states(verdict, "load") == ["held"]
    assert states(verdict, "equality") == ["not yet run"] * 5
    assert not verdict.complete
    assert "questions were not come to" in done.stdout
    assert "not yet run" in (tmp_path / "cut" / "verify.md").read_text("utf-8")
    assert main(["verify", "--adopt", str(tmp_path / "cut" / "verify.json")]) == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--model", "nope"], "There is no model 'nope': choose smollm2-135m,"),
        (["--model", "owner/name"], "The hub cannot be reached to get owner/name: check the"),
        (["--model", "toy", "--decoder", "x"], "There is no decoder 'x': choose one of recap,"),
        (["--model", "toy", "--out", "taken"], "taken is a file: choose a folder for --out."),
        (["--model", "toy", "--out", "no/such"], "no/such cannot be written (No such file or"),
        (["--model", "smollm2-135m", "--dtype", "int3"], "dtype cannot be 'int3': give auto or"),
        (["--model", "toy", "--dtype", "nix"], "The model toy computes on cpu in float64 only:"),
        (["--model", "toy", "--dtype", "auto", "--dtype", "float32"], "The model toy computes"),
        (["--model", "toy", "--device", "cuda"], "The model toy computes on cpu in float64 only:"),
        (["--adopt", "absent.json"], "absent.json cannot be read: No such file or directory."),
        (["--adopt", "taken"], "taken is no result of `specviz verify`, or a damaged one: give"),
        (["--adopt", "old.json"], "old.json has schema 99, this specviz reads 1: verify again."),
    ],
)
def test_what_cannot_be_used_is_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("taken").write_text("text")
    Path("old.json").write_text('{"verdict_schema": 99}')
    assert main(["verify", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(sentence) and captured.err.count("\n") == 1
    assert sorted(p.name for p in Path().iterdir()) == ["old.json", "taken"]


def test_a_refused_model_leaves_no_result() -> None:
    assert main(["verify", "--model", "owner/name", "--out", "out"]) == 2
    assert not Path("out").exists()
    Path("own").mkdir()
    assert main(["verify", "--model", "owner/name", "--out", "own"]) == 2
    assert list(Path("own").iterdir()) == []


def test_a_result_holds_no_clock_no_path_and_the_same_shape(tmp_path: Path) -> None:
    _, verdict, out = verified("--model", "toy", "--quick", "--decoder", "recap")
    raw = (out / "verify.json").read_text("utf-8")
    assert str(tmp_path) not in raw and "/" not in verdict.code
    assert verdicts.dumps(verdicts.load(out / "verify.json")).decode() == raw
    assert set(json.loads(raw)) == set(verdicts.schema()["properties"])


class Fake:
    """A trial whose runs take the seconds that a table says."""

    quick = False

    def __init__(self) -> None:
        self.order: list[str] = []

    def prompts(self) -> tuple[tuple[str, object], ...]:
        return (("a", None), ("b", None), ("c", None), ("d", None))

    def timed(self, variant: trial.Variant | None, prompt: str, inputs: object):
        name = "generate" if variant is None else variant.title
        if name == "prompt_lookup":
            raise Unsupported("It needs what is not there.")
        self.order.append(f"{name[0]}{prompt}")
        took = {"autoregressive": 2.0, "generate": 4.0, "recap": 1.0}[name]
        return 10, took, 5 if name == "recap" else 10


def test_contenders_take_turns_and_are_compared_with_our_own_loop() -> None:
    fake = Fake()
    names = ("autoregressive", "generate", "recap", "prompt_lookup")
    asked = tuple(Speed(dtype="float32", decoder=name) for name in names)
    found = race(fake, asked, trial.variants((), TREE))  # type: ignore[arg-type]
    assert [(r.tokens_per_s, r.speedup, r.tau) for r in found if isinstance(r, Speed)] == [
        (5.0, 1.0, 1.0), (2.5, 0.5, 1.0), (10.0, 2.0, 2.0), (None, None, None),
    ]  # fmt: skip
    assert (found[3].state, found[3].why) == ("skipped", "It needs what is not there.")
    # Warmed up, then each of three prompts twice; another one begins each time.
    assert fake.order[:3] == ["aa", "ga", "ra"]
    assert fake.order[3:12] == ["aa", "ga", "ra", "gb", "rb", "ab", "rc", "ac", "gc"]
    assert len(fake.order) == 3 + 3 * 3 * 2


def test_a_race_without_contenders_is_told_row_by_row() -> None:
    asked = (Speed(dtype="float32", decoder="prompt_lookup"),)
    (row,) = race(Fake(), asked, trial.variants((), TREE))  # type: ignore[arg-type]
    assert (row.state, row.why) == ("skipped", "It needs what is not there.")


def test_a_margin_that_is_not_known_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Trial("toy", "cpu", "float64", True, Path())
    monkeypatch.setattr(Trial, "_reference", lambda *arguments: (0,))
    for margins, largest in (((None, None, None), None), ((None, 0.25, 0.125), 0.25)):
        checks = iter(SimpleNamespace(ties=0, margin=m, equal=False) for m in margins)
        monkeypatch.setattr(Trial, "_judge", lambda *arguments, checks=checks: next(checks))
        row = found.equality(
            Equality(dtype="float64", decoder="recap", reference="own loop"),
            trial.Variant("recap", "recap"),
        )
        assert (row.state, row.largest_margin) == ("failed", largest)


def test_switched_off_packing_is_not_called_useless(
    checkpoint: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Trial(str(checkpoint("llama")), "cpu", "float32", True, Path())
    monkeypatch.setenv("SPECVIZ_PACKED", "0")
    with pytest.raises(Unsupported) as error:
        found.passes(Passes(dtype="float32", context=100, packed=True))
    assert str(error.value) == "SPECVIZ_PACKED is off: unset it to try packed weights, too."


def test_an_interrupt_while_loading_leaves_the_questions(
    checkpoint: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Trial, "load", stop)
    code, verdict, out = verified("--model", str(checkpoint("llama")), "--quick")
    assert code == 130
    assert (verdict.model, verdict.device, verdict.complete) == ("tiny-llama", "cpu", False)
    assert {row.state for row in verdict.rows} == {"not yet run"}
    assert [r.decoder for r in verdict.rows if isinstance(r, Equality)] == TITLES
    assert str(checkpoint("llama").parent) not in (out / "verify.json").read_text("utf-8")
    assert "questions were not come to" in (out / "verify.md").read_text("utf-8")


def test_the_digest_of_the_code_is_of_what_could_change_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("decoding.py", "jobs.py", "models/hf.py", "drafters/recap.py", "models/peers.py",
             "models/probe.py", "metrics.py")  # fmt: skip
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    monkeypatch.setattr(verdicts, "__file__", str(tmp_path / "verdict.py"))
    found = [verdicts.code_digest()]
    for name in names:
        (tmp_path / name).write_text("y")
        found.append(verdicts.code_digest())
    assert len(set(found[:5])) == 5 and set(found[4:]) == {found[4]}
    (tmp_path / "drafters" / "recap.py").rename(tmp_path / "drafters" / "zap.py")
    assert verdicts.code_digest() != found[-1]


def test_figures_of_papers_belong_to_the_model_they_were_made_with() -> None:
    assert [(f.decoder, f.speedup) for f in reported("Qwen/Qwen2.5-VL-7B-Instruct")] == [
        ("recap", 1.66), ("token_recycling", 1.51),
    ]  # fmt: skip
    assert reported("smollm2-135m") == ()


def test_closing_the_kit_in_the_middle_is_clean(tmp_path: Path) -> None:
    with closing(verify.verify(Plan("toy", tmp_path, quick=True))) as stream:
        first = next(stream)
        assert {row.state for row in first.rows} == {"not yet run"}
        second = next(stream)
    assert [row.state for row in second.rows][:2] == ["held", "not yet run"]
    with pytest.raises(InputError):
        next(verify.verify(Plan("nope", tmp_path)))


def test_a_peer_beside_a_model_shares_its_weights_and_nothing_else(
    checkpoint: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from specviz.models import peers

    folder = str(checkpoint("llama"))
    model = registry.load(folder, "cpu", "float32", packed=False)
    before = model.net.config._attn_implementation  # type: ignore[attr-defined]
    peer = peers.beside(model)
    prompt = tuple(range(40, 60))
    expected = peers.load(folder, "cpu", "float32").generate(prompt, 12).tokens
    assert peer.generate(prompt, 12).tokens == expected
    assert model.net.config._attn_implementation == before != "sdpa"  # type: ignore[attr-defined]
    weights = [p.data_ptr() for p in model.net.parameters()]  # type: ignore[attr-defined]
    assert [p.data_ptr() for p in peer.model.net.parameters()] == weights

    def full(*arguments: object) -> None:
        raise Unsupported("It does not fit into the memory of cuda.")

    monkeypatch.setattr(peers, "load", full)
    monkeypatch.setenv("SPECVIZ_PACKED", "0")
    code, verdict, _ = verified("--model", folder, "--quick", "--decoder", "recap", "--dtype",
                                "float32")  # fmt: skip
    assert code == 0 and states(verdict, "equality") == ["held"]
    monkeypatch.setenv("SPECVIZ_PACKED", "1")
    with pytest.raises(Unsupported, match="cannot serve transformers beside ours"):
        peers.beside(registry.load("toy"))


def test_a_full_disk_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("specviz.cli.verify.write_whole", full)
    assert main(["verify", "--model", "toy", "--quick", "--out", "out"]) == 2
    assert (
        capsys.readouterr()
        .err.splitlines()[-1]
        .endswith("cannot be written (No space left on device): choose another folder.")
    )


def test_an_adopted_result_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    verified("--model", "toy", "--quick", "--decoder", "recap")
    for path in (registry.adopted(), registry.SHIPPED):
        assert path.name == "verified"
    assert main(["verify", "--adopt", "out/verify.json"]) == 0
    (kept,) = registry.adopted().iterdir()
    assert kept.read_bytes() == Path("out/verify.json").read_bytes()
    capsys.readouterr()
    assert main(["models"]) == 0
    assert "float64: 1 decoder equal to plain decoding on 3 prompts" in capsys.readouterr().out


def test_a_cache_that_cannot_be_written_is_named_with_its_way_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    verified("--model", "toy", "--quick", "--decoder", "recap")
    capsys.readouterr()
    (tmp_path / "cache").write_text("in the way")
    assert main(["verify", "--adopt", "out/verify.json"]) == 2
    assert capsys.readouterr().err == (
        f"{tmp_path / 'cache' / 'verified'} cannot be written (Not a directory): set SPECVIZ_CACHE "
        "to a folder that can be.\n"
    )


def test_a_damaged_result_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    registry.adopted().mkdir(parents=True)
    (registry.adopted() / "broken.json").write_text("{}x")
    for _ in range(2):  # again each time one asks
        caplog.clear()
        assert main(["models"]) == 0
        (line,) = caplog.messages
        assert line.startswith("broken.json is no result of `specviz verify`, or a damaged one:")


def test_the_committed_schema_is_current() -> None:
    path = Path(verdicts.__file__).with_name("verdict.schema.json")
    assert json.loads(path.read_text()) == verdicts.schema()


def test_a_recorded_run_that_cannot_have_happened_does_not_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trial, "audit", lambda trace: ("The decoder's run ends twice.",))
    code, verdict, _ = verified("--model", "toy", "--quick", "--decoder", "recap")
    (row,) = rows(verdict, "example")
    assert (code, row.state, row.why) == (3, "failed", "The decoder's run ends twice.")


@pytest.mark.parametrize("tied", [True, False])
def test_packed_and_shared_weights_are_counted_once(tied: bool) -> None:
    net = tiny.net("llama", dtype=torch.float32)
    if tied:
        net.config.tie_word_embeddings = True
        net.tie_weights()
    expected = sum(p.numel() for p in net.parameters())
    for parent in list(net.modules()):
        for name, layer in list(parent.named_children()):
            if type(layer) is torch.nn.Linear:
                parent.register_module(name, PackedLinear(layer))
    assert probe.parameters(net) == expected


def test_a_model_that_sees_is_asked_about_pictures_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, verdict, out = verified("--model", "toy-signs", "--quick", "--decoder", "recap")
    assert code == 0
    (row,) = (r for r in verdict.rows if isinstance(r, Equality))
    assert (row.prompts, row.pictures, row.identical) == (3, 2, 3)
    printed = capsys.readouterr().out
    assert "3 of 3 prompts identical to plain decoding (36 tokens), 2 of them about" in printed
    (example,) = rows(verdict, "example")
    kept = load_trace(out / example.file)
    run = kept.run("decoder")
    assert audit(kept) == () and run is not None
    assert [(p.name, p.seen.width) for p in run.header.pictures] == [("menu.png", 64)]
    plain = verified("--model", "toy", "--quick", "--decoder", "recap")[1]
    assert [r.pictures for r in plain.rows if isinstance(r, Equality)] == [0]


def test_every_other_prompt_of_a_model_that_sees_has_a_picture() -> None:
    asked = [prompt for prompt, _ in Trial("toy-signs", "cpu", "float64", False, Path()).prompts()]
    assert [len(prompt.pictures) for prompt in asked] == [1, 0, 1, 0, 1, 0]
    assert len({p.png for prompt in asked for p in prompt.pictures}) == 3
    again = [prompt for prompt, _ in Trial("toy-signs", "cpu", "float64", True, Path()).prompts()]
    assert again == asked[:3]
