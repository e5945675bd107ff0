# make demo, make test, make bench: each makes its own virtual environment first.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
DEMO   := $(VENV)/.demo
STAMP  := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test everything lint format bench fuzz mutants pictures experiments experiments-quick browser docs clean

help:            ## list the targets
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:[^#]*## /\t/'

$(DEMO): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[plot]'
	touch $@

$(STAMP): $(DEMO)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

demo: $(DEMO)    ## train on handwritten digit strings, print the certificate, draw the report
	$(BIN)/blockwolfe demo

lint: $(STAMP)   ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint       ## lint, types and all tests; what CI runs
	$(BIN)/python -m pytest -n 2 --dist worksteal

everything:      ## as test, with every combination of choices: twice as long
	BLOCKWOLFE_ALL_TESTS=1 $(MAKE) test

format: $(STAMP) ## rewrite the source in the project's format
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

bench: $(STAMP)  ## speed of the compiled pass against its bounds
	$(BIN)/python benchmarks/speed.py

SECONDS ?= 600
JOBS    ?= 2
fuzz: $(STAMP)   ## random cases against every promise, for SECONDS=600 on JOBS=2; reproducers in fuzz-failures/
	$(BIN)/python -m tools.fuzz --seconds $(SECONDS) --jobs $(JOBS)

browser:         ## Debian's Chromium and its driver, with which the HTML report is tested (needs root or sudo)
	@{ { command -v chromium || command -v google-chrome; } && command -v chromedriver; } || \
	  { command -v apt-get >/dev/null && SUDO=$$(command -v sudo || true) && \
	    $$SUDO apt-get update -qq && \
	    $$SUDO apt-get install -y -qq --no-install-recommends chromium chromium-driver; } || \
	  { echo "no Chromium with its driver could be installed; set BLOCKWOLFE_BROWSER and BLOCKWOLFE_DRIVER"; exit 1; }

docs: $(STAMP)   ## check that every documented example runs, then build the site into site/
	$(BIN)/python -m pytest -n 2 --dist worksteal src README.md docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open site/index.html"

pictures: $(STAMP) ## draw every picture of docs/images again (those of the report need a browser)
	$(BIN)/python -m tools.pictures

experiments: $(STAMP) ## every figure of the papers again, on all cores: 4 CPU hours, a quarter of an hour on 16 cores; ended runs are kept
	$(BIN)/python -m experiments all --size full --jobs $$(getconf _NPROCESSORS_ONLN)

experiments-quick: $(STAMP) ## the same on generated data in a minute or two, into build/experiments
	$(BIN)/python -m experiments all --size quick --jobs $(JOBS) --output build/experiments

mutants: $(STAMP) ## small changes of the source, each of which some test must notice, on JOBS=2
	$(BIN)/python -m tools.mutants --jobs $(JOBS)

clean:           ## remove what the targets made
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis dist demo-output site fuzz-failures
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
