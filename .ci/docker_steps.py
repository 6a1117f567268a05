"""Runs the steps of the Dockerfile without Docker, and asks the page that they make for a run.

    python .ci/docker_steps.py FOLDER [--installed PYTHON | --python PYTHON] [--uid 1000]

``FOLDER`` must be empty or absent: the container's file system is made below it. Its own RUN, COPY,
ENV, WORKDIR and CMD are read from the Dockerfile and done as the user who calls this, or, where
that is root, as the one of ``--uid``; adding a user and the base image itself are left out, which
is said. Packages go into a virtual environment of ``--python``; ``--installed`` takes those of that
interpreter instead. Exit code 0: the page answered and opened a recorded run.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WAIT = 300.0  # seconds until the page has to answer


def steps(source: str) -> Iterator[tuple[str, str]]:
    """Instructions of a Dockerfile and what follows them, on one line each."""
    lines = [line for line in source.splitlines() if not line.lstrip().startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip():
            name, _, rest = line.strip().partition(" ")
            yield name.upper(), " ".join(rest.split())


def ignored(path: str, rules: list[str]) -> bool:
    """Whether ``.dockerignore`` leaves out ``path``; the last rule that fits decides."""
    out = False
    for rule in rules:
        pattern = rule.removeprefix("!")
        parts = path.split("/")
        heads = ["/".join(parts[: i + 1]) for i in range(len(parts))]
        plain = pattern.removeprefix("**/")
        fits = any(fnmatch.fnmatchcase(head, pattern) for head in heads)
        if pattern.startswith("**/"):
            fits = any(fnmatch.fnmatchcase(part, plain) for part in parts)
        elif "/" not in pattern:  # a star stops at a slash
            fits = fnmatch.fnmatchcase(parts[0], pattern)
        if fits:
            out = not rule.startswith("!")
    return out


@dataclass
class Box:
    """What would be the container: ``root`` is its file system, ``python`` its interpreter."""

    root: Path
    python: Path
    install: bool
    uid: int | None = None
    env: dict[str, str] = field(default_factory=dict)
    cwd: str = "/"
    left_out: list[str] = field(default_factory=list)

    def inside(self, path: str) -> Path:
        """Where ``path`` of the container lies here."""
        return self.root / path.lstrip("/")

    def run(self, name: str, rest: str) -> None:
        """One step; raises CalledProcessError or ValueError for one that fails."""
        print(f"{name} {rest}", flush=True)  # noqa: T201
        match name:
            case "ENV":
                self._env(rest)
            case "WORKDIR":
                self.cwd = rest
                self.inside(rest).mkdir(parents=True, exist_ok=True)
                self.own(self.root / "home")
            case "COPY":
                self._copy(rest)
            case "RUN":
                self._command(rest)
            case "FROM" | "USER" | "EXPOSE" | "CMD":
                if name in ("FROM", "USER"):
                    self.left_out.append(f"{name} {rest}")
            case _:
                raise ValueError(f"{name} is not known here")

    def _env(self, rest: str) -> None:
        for setting in shlex.split(rest):
            name, _, value = setting.partition("=")
            # Absolute paths of the container lie below its root here; its own PATH comes first.
            value = re.sub(r"(?<![\w.])/home/", f"{self.root}/home/", value)
            self.env[name] = value.replace(f"${name}", os.environ.get(name, ""))

    def _copy(self, rest: str) -> None:
        words = [word for word in rest.split() if not word.startswith("--")]
        rules = (ROOT / ".dockerignore").read_text("utf-8").split()
        target = self.inside(words[-1] if words[-1].startswith("/") else f"{self.cwd}/{words[-1]}")
        for source in words[:-1]:
            found = tracked(source)
            if not found:
                raise ValueError(f"COPY {source}: there is no such file")
            folder = (ROOT / source).is_dir()
            for path in found:
                if ignored(path, rules):
                    continue
                to = target / (os.path.relpath(path, source) if folder else Path(path).name)
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / path, to)
        if "--chown=user" in rest.split():
            self.own(target)

    def own(self, folder: Path) -> None:
        """Give ``folder`` and all below it to the user of the container."""
        if self.uid is not None:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, self.uid, self.uid, follow_symlinks=False)

    def _command(self, rest: str) -> None:
        if rest.startswith("useradd "):
            self.left_out.append(f"RUN {rest}")
        elif not self.install and "pip install" in rest:
            self.left_out.append(f"RUN {rest} (packages of {self.python})")
        else:
            # A virtual environment is a user's own place: pip refuses --user in it.
            pip = f"{shlex.quote(str(self.python))} -m pip"
            command = re.sub(r"\bpip install\b", f"{pip} install", rest).replace(" --user", "")
            self.call(["sh", "-ec", command]).check_returncode()

    def call(self, command: list[str]) -> subprocess.CompletedProcess[bytes]:
        """``command`` in the container's folder and environment."""
        return subprocess.run(
            command, cwd=self.inside(self.cwd), env=self.environment(), **self.user()
        )

    def user(self) -> dict[str, Any]:
        """What makes a process one of the container's user."""
        if self.uid is None:
            return {}
        return {"user": self.uid, "group": self.uid, "extra_groups": [], "umask": 0o022}

    def environment(self) -> dict[str, str]:
        """That of the container, with nothing of the caller's but how to reach packages."""
        kept = re.compile(r"LANG|LC_ALL|OMP_NUM_THREADS|(?i:https?_proxy)|PIP_.*|SSL_.*")
        found = {name: value for name, value in os.environ.items() if kept.fullmatch(name)}
        path = f"{self.python.parent}:{self.env.get('PATH', os.environ.get('PATH', ''))}"
        return {**found, **self.env, "PATH": path}


def tracked(source: str) -> list[str]:
    """Files of the repository below ``source``, which a clean checkout would have."""
    command = ["git", "ls-files", "-z", "--", source]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for path in listed.split("\0") if path and (ROOT / path).is_file()]


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def fetched(address: str, body: object = None) -> bytes:
    """What the page answers; raises URLError."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        found: bytes = answer.read()
        return found


def asked(box: Box, command: list[str], port: int) -> None:
    """Start the page as CMD says, wait for ``/``, and open its first recorded run."""
    env = {**box.environment(), "GRADIO_SERVER_PORT": str(port)}
    server = subprocess.Popen(command, cwd=box.inside(box.cwd), env=env, **box.user())
    try:
        host = f"http://127.0.0.1:{port}"
        until = time.monotonic() + WAIT
        while True:
            try:
                first = fetched(host)
                break
            except (urllib.error.URLError, ConnectionError):
                if server.poll() is not None or time.monotonic() > until:
                    raise SystemExit("The page never answered.") from None
                time.sleep(1)
        if b"specviz" not in first:
            raise SystemExit("What answers at / is not the page.")
        parts = json.loads(fetched(f"{host}/config"))["dependencies"]
        opening = next(p["id"] for p in parts if p["api_name"] == "open_page")
        body = {"data": [None], "fn_index": opening, "session_hash": "steps"}
        shown = json.loads(fetched(f"{host}/gradio_api/run/predict", body))["data"]
        if not any(isinstance(value, str) and value.startswith('{"load": ') for value in shown):
            raise SystemExit("The page opened no recorded run.")
        print(f"The page answers, and opens a recorded run ({len(json.dumps(shown))} bytes).")  # noqa: T201
    finally:
        server.terminate()
        server.wait(30)


def made(folder: Path, python: Path, installed: Path | None, uid: int | None) -> Box:
    """An empty box with an interpreter."""
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty: choose another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    if installed is not None:
        return Box(folder, installed.absolute(), install=False, uid=uid)
    subprocess.run([str(python), "-m", "venv", str(folder / "venv")], check=True)
    box = Box(folder, folder / "venv" / "bin" / "python", install=True, uid=uid)
    box.own(folder / "venv")
    return box


def main() -> None:
    """Do all steps, then ask the page."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("folder", type=Path)
    options.add_argument("--installed", type=Path, help="use the packages of this interpreter")
    options.add_argument("--python", type=Path, default=Path(sys.executable))
    options.add_argument("--uid", type=int, help="be this user (for root)")
    given = options.parse_args()
    box = made(given.folder, given.python, given.installed, given.uid)
    command = [""]
    for name, rest in steps((ROOT / "Dockerfile").read_text("utf-8")):
        box.run(name, rest)
        if name == "CMD":
            command = json.loads(rest)
    for writable in ("HF_HOME", "XDG_CACHE_HOME", "GRADIO_TEMP_DIR", "MPLCONFIGDIR"):
        made_by = box.call(["mkdir", "-p", box.env[writable]])
        made_by.check_returncode()
        if box.root not in Path(box.env[writable]).parents:
            raise SystemExit(f"{writable} lies outside of the home: {box.env[writable]}.")
    if command[0] == "python":
        command[0] = str(box.python)
    asked(box, command, free_port())
    for step in box.left_out:
        print(f"Left out here: {step}")  # noqa: T201


if __name__ == "__main__":
    main()
