"""The script that does the Dockerfile's steps without Docker."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / ".ci" / "docker_steps.py"
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docker_steps", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_steps_are_those_of_the_dockerfile(script: ModuleType) -> None:
    found = list(script.steps(DOCKERFILE))
    assert found[:3] == [
        ("FROM", "python:3.12-slim"), ("RUN", "useradd --create-home --uid 1000 user"),
        ("USER", "user"),
    ]  # fmt: skip
    assert found[-2:] == [("EXPOSE", "7860"), ("CMD", '["python", "app.py"]')]
    assert len(found) == len(re.findall(r"^[A-Z]+ ", DOCKERFILE, re.M))


@pytest.mark.parametrize(
    ("path", "out"),
    [
        (".git/config", True), (".dockerignore", False), ("tests/test_ui.py", True),
        ("specviz/ui/page.py", False), ("specviz/ui/__pycache__/page.pyc", True),
        ("docs/tour.md", True), ("docs/results-recurrent.json", False),
        ("docs/results-window.json", False), ("assets/player/node_modules/x/y.js", True),
    ],
)  # fmt: skip
def test_what_the_ignore_file_leaves_out(script: ModuleType, path: str, out: bool) -> None:
    rules = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert script.ignored(path, rules) is out


def test_a_box_gets_the_files_and_settings_of_the_container(
    script: ModuleType, tmp_path: Path
) -> None:
    box = script.Box(tmp_path, Path(sys.executable), install=False)
    for name, rest in script.steps(DOCKERFILE):
        if "specviz specviz" not in rest and "assets" not in rest and "examples" not in rest:
            box.run(name, rest)
    home = tmp_path / "home" / "user"
    assert box.env["HF_HOME"] == f"{home}/.cache/huggingface"
    assert box.env["PATH"].startswith(f"{home}/.local/bin:")
    assert box.env["GRADIO_SERVER_NAME"] == "0.0.0.0"
    there = sorted(str(p.relative_to(home / "app")) for p in (home / "app").rglob("*.*"))
    assert there == [
        "README.md", "app.py", "docs/results-recurrent.json", "docs/results-window.json",
        "requirements-weights.txt", "requirements.txt",
    ]  # fmt: skip
    assert [step.split(" --")[0] for step in box.left_out] == [
        "FROM python:3.12-slim", "RUN useradd", "USER user", "RUN pip install",
    ]  # fmt: skip
    box.run("RUN", "printf %s $HF_HOME > where")
    assert (home / "app" / "where").read_text() == box.env["HF_HOME"]
    with pytest.raises(subprocess.CalledProcessError):
        box.run("RUN", "false && true")
    with pytest.raises(ValueError, match=r"^COPY nothing: there is no such file$"):
        box.run("COPY", "nothing ./")
    with pytest.raises(ValueError, match=r"^HEALTHCHECK is not known here$"):
        box.run("HEALTHCHECK", "NONE")


def test_the_container_has_what_the_page_reads_of_the_documentation() -> None:
    read = set()
    for file in (ROOT / "specviz" / "ui").glob("*.py"):
        read |= set(re.findall(r'"docs" / "([\w.-]+)"', file.read_text("utf-8")))
    assert read == {"results-recurrent.json", "results-window.json"}
    assert all(f"docs/{name} " in DOCKERFILE for name in read)


@pytest.mark.proof
def test_the_page_of_the_container_opens_a_recorded_run(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path / "box"), "--installed", sys.executable],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "The page answers, and opens a recorded run (" in done.stdout
