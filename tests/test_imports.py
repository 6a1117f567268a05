"""The walls between the modules: who may import whom, and what importing must not load."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# What each module or package may import from specviz; its own package is always allowed. A name
# covers everything below it. A new module has to be entered here: that is the moment to decide
# where it belongs.
TRACE = {"evidence", "request", "trace", "tree"}
PURE = {*TRACE, "metrics", "sights", "waves", "compare", "budget", "probes"}
MAY_IMPORT: dict[str, set[str]] = {
    "": {*TRACE, "tracefile"},
    "tree": set(),
    "evidence": set(),
    "request": {"evidence"},
    "trace": {"evidence", "request", "tree"},
    "files": set(),
    "tracefile": {"evidence", "trace", "files"},
    "metrics": {*TRACE, "budget", "waves"},
    "waves": TRACE,
    "sights": {*TRACE, "metrics"},
    "compare": {*TRACE, "metrics"},
    "budget": set(),
    "windows": set(),
    "verdict": {"trace"},
    "catalog": set(),
    "pdf_worker": set(),
    "pdf": {"models.base"},
    "inputs": {"models.base", "pdf"},
    "picture_modes": set(),
    "pixels": {"models.base"},
    "pictures": {"models.base", "inputs", "picture_modes", "pixels"},
    "cut": {"models.base"},
    "aside": set(),
    "limits": {"models.base"},
    "models": {*TRACE, "budget", "files", "pixels", "verdict", "windows"},
    "drafters": {*TRACE, "budget", "files", "models.base", "models.engines", "windows"},
    "decoding": {*TRACE, "budget", "models.base", "drafters.base"},
    "equality": {"compare", "trace", "models.base"},
    "probes": TRACE,
    "recorded": {"trace", "job", "metrics", "pictures", "pixels", "models.base", "models.registry"},
    "substitutes": {"probes", "pixels", "models.base"},
    "turns": {"aside", "trace", "models.registry"},
    "probing": {
        "aside", "limits", "trace", "probes", "recorded", "substitutes", "turns", "models.base",
        "models.registry",
    },
    "job": {"cut", "drafters.memory", "inputs", "limits", "models.base", "trace"},
    "jobs": {
        "", *PURE, "aside", "cut", "equality", "decoding", "drafters", "job", "models.base",
        "models.registry", "probing", "recorded", "turns",
    },
    "changes": {"trace", "drafters", "evidence", "windows"},
    "counterfactual": {
        "", *PURE, "changes", "jobs", "drafters", "models.base", "models.registry", "recorded",
    },
    "memories": {"job", "trace", "drafters"},
    "views": {*PURE, "catalog", "verdict"},
    "lesson_rules": {*TRACE, "metrics", "sights"},
    "lesson_sentences": {*TRACE, "lesson_rules"},
    "lesson_questions": {*TRACE, "metrics", "sights", "lesson_rules", "lesson_sentences"},
    "lesson_waves": {*TRACE, "lesson_rules", "lesson_sentences"},
    "lesson_pictures": {*TRACE, "lesson_rules", "lesson_sentences"},
    "lessons": {
        *PURE, "gallery", "catalog", "lesson_rules", "lesson_sentences", "lesson_questions",
        "lesson_waves", "lesson_pictures",
    },
    "gallery": {*TRACE, "metrics", "tracefile", "catalog", "audit"},
    "player": {*PURE, "tracefile", "catalog", "views"},
    "site": {"gallery", "catalog", "views", "player"},
    "audit": {*TRACE, "compare", "audit_head", "audit_pictures"},
    "audit_pictures": {"trace", "pictures", "models.base"},
    "audit_head": {*TRACE, "windows"},
    "options": {
        "jobs", "catalog", "cut", "inputs", "pdf", "pictures", "recorded", "tracefile", "drafters",
        "models.base",
    },
    "recorder": {*PURE, "tracefile", "files", "jobs", "memories", "catalog", "models.base"},
    "bench": {
        "", *PURE, "jobs", "inputs", "models.base", "models.engines", "models.registry",
        "models.peers", "models.probe", "models.raven_label", "models.raven_depths",
        "models.raven_costs", "models.raven_probe", "models.eagle_faked", "windows", "drafters",
        "audit", "verdict", "decoding", "equality", "memories", "tracefile", "files", "recorder",
        "player", "catalog", "pictures", "pixels", "probes", "probing", "training.raven_documents",
        "training.raven_tasks", "training.vlm_scenes", "training.vlm_draw",
    },
    "training": {
        "", *PURE, "decoding", "drafters", "files", "models", "inputs", "pixels", "substitutes",
    },
    "cli": {
        *PURE, "tracefile", "files", "jobs", "options", "views", "player", "bench", "catalog",
        "audit", "recorder", "drafters", "models.base", "models.heads", "models.registry",
        "changes", "counterfactual", "verdict", "pictures", "probing", "site", "gallery",
        "lessons",
    },
    "__main__": {"cli"},
    "ui": {
        *PURE, "tracefile", "jobs", "memories", "aside", "cut", "inputs", "views", "player",
        "catalog", "audit", "drafters", "lessons", "models.base", "models.heads", "models.registry",
        "changes", "counterfactual", "pictures", "probing", "job", "limits", "recorded", "gallery",
    },
    "app": {"ui"},
}  # fmt: skip

# Heavy or interface packages and the only places that may import them, even lazily.
ONLY_IN: dict[str, set[str]] = {
    "torch": {"models", "training"},
    "transformers": {"models", "training"},
    "safetensors": {"models", "training"},
    "accelerate": {"models", "training"},
    "gguf": {"models", "training"},
    "plotly": {"views"},
    "gradio": {"ui", "app"},
    "spaces": {"ui", "app"},
    "pillow_heif": {"pictures"},
    "pypdfium2": {"pdf_worker"},  # in a process of its own, which a damaged file may end
}
# Inside models/ these are read by everybody, so they stay free of torch.
LIGHT = {
    "models", "models.base", "models.engines", "models.entries", "models.raven_label",
    "models.registry", "models.smol_boards", "models.smollm2", "models.stored", "models.tiny_raven",
    "models.toy",
}  # fmt: skip


def imported(module: str, source: str, is_package: bool = False) -> Iterator[str]:
    """Absolute names that ``source`` imports anywhere; ``from a import b`` gives ``a.b``."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{stem}.{alias.name}" for alias in node.names)


def at_import(source: str) -> Iterator[str]:
    """Top-level names of packages that importing ``source`` itself loads."""
    tree = ast.parse(source)
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]
        pending.extend(ast.iter_child_nodes(node))


def covers(name: str, place: str) -> bool:
    return name == place or name.startswith(place + ".")


def breaches(module: str, source: str, is_package: bool = False) -> list[str]:
    """What ``module`` (``specviz.…`` or ``app``) imports against the rules, in words."""
    short = module.removeprefix("specviz").removeprefix(".")
    unit = short.split(".")[0]
    if unit not in MAY_IMPORT:
        return [f"{module} is not in the table of this test: say what it may import"]
    found = []
    for name in imported(module, source, is_package):
        top = name.split(".")[0]
        if top == "specviz":
            inner = name.removeprefix("specviz").removeprefix(".")
            own = unit != "" and covers(inner, unit)
            if not own and not any(covers(inner, place) for place in MAY_IMPORT[unit]):
                found.append(f"{module} imports {name}")
        elif top in ONLY_IN and unit not in ONLY_IN[top]:
            found.append(f"{module} imports {name}")
    if short in LIGHT:
        found += [
            f"{module} loads {name} when it is imported"
            for name in at_import(source)
            if name in {"torch", "transformers", "safetensors", "accelerate", "gguf"}
        ]
    return found


def sources() -> Iterator[tuple[str, Path]]:
    yield "app", ROOT / "app.py"
    for path in sorted((ROOT / "specviz").rglob("*.py")):
        parts = list(path.relative_to(ROOT).with_suffix("").parts)
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def test_every_import_follows_the_direction_of_the_architecture() -> None:
    found = [
        breach
        for module, path in sources()
        for breach in breaches(module, path.read_text("utf-8"), path.name == "__init__.py")
    ]
    assert found == []


@pytest.mark.parametrize(
    ("module", "source", "breach"),
    [
        ("specviz.views.tree", "import torch", "specviz.views.tree imports torch"),
        (
            "specviz.views.tree",
            "def f():\n    from specviz.models import hf",
            "specviz.views.tree imports specviz.models.hf",
        ),
        ("specviz.player", "import plotly.graph_objects", "specviz.player imports plotly."),
        ("specviz.metrics", "from . import drafters", "specviz.metrics imports specviz.drafters"),
        ("specviz.drafters.recap", "from torch import nn", "specviz.drafters.recap imports torch"),
        ("specviz.cli", "from specviz import ui", "specviz.cli imports specviz.ui"),
        ("specviz.jobs", "from gradio import Blocks", "specviz.jobs imports gradio.Blocks"),
        ("specviz.jobs", "from specviz.models.hf import X", "specviz.jobs imports specviz.models"),
        ("specviz.decoding", "from specviz.drafters.recap import R", "specviz.decoding imports"),
        ("app", "from specviz import jobs", "app imports specviz.jobs"),
        ("specviz.models.registry", "import torch", "specviz.models.registry loads torch"),
        ("specviz.helpers", "", "specviz.helpers is not in the table"),
    ],
)
def test_a_breach_is_found(module: str, source: str, breach: str) -> None:
    found = breaches(module, source)
    assert len(found) == 1
    assert found[0].startswith(breach)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("specviz.models.hf", "import torch\nfrom specviz.models.base import Scores"),
        ("specviz.models.registry", "def load():\n    import torch"),
        ("specviz.drafters.recap", "from specviz.drafters.base import Draft\nimport numpy"),
        ("specviz.views.charts", "import plotly.graph_objects as go\nfrom specviz import metrics"),
        ("specviz.jobs", "from specviz.models.registry import load"),
    ],
)
def test_what_the_architecture_allows_passes(module: str, source: str) -> None:
    assert breaches(module, source) == []


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_the_command_line_loads_no_model_no_page_and_no_charts() -> None:
    heavy = {"torch", "transformers", "safetensors", "gguf", "gradio", "plotly"}
    assert loaded_by("import specviz.cli") & heavy == set()


def test_importing_the_app_loads_no_model() -> None:
    loaded = loaded_by("import app")
    assert loaded & {"torch", "transformers", "gguf"} == set()
    assert "app" in loaded
