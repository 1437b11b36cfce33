# Everything runs in .venv, one torch thread per process; parallelism is by processes.
export OMP_NUM_THREADS ?= 1
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

PYTHON ?= python3
PIP_ARGS ?=
JOBS ?= auto
ARGS ?=
BIN := .venv/bin
# commands (typer, rich), specs (pydantic, pyyaml), pages and pictures (jinja2, pillow), states (safetensors), numbers (numpy, scipy)
LOWEST := tests/cli tests/experiment/spec tests/experiment/sweep/test_store.py tests/report tests/core/test_saved.py \
	tests/core/test_hostile_states.py tests/core/test_guard.py tests/metrics tests/memory tests/docs/test_snippets.py
EXTRAS := tests/experiment/sweep/test_loggers.py tests/experiment/sweep/test_bucket.py tests/data/readers/test_items.py tests/models/test_pretrained.py tests/test_hub.py

.PHONY: help bench test test-slow test-all test-lowest test-extras mutants check lint lint-page docs links package screenshots clean

help:  ## this list
	@echo "gotta: memory for test-time adaptation"
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20
	@echo "Variables: PYTHON (an interpreter of 3.11 or newer), PIP_ARGS (e.g. an index of CPU builds of torch), ARGS, JOBS, SHARD"

bench: .venv/.core  ## set up, then run the default benchmark; finished runs are reused (ARGS="--quick" for a first look)
	$(BIN)/gotta bench $(ARGS)

test: .venv/.dev  ## set up, then run the tests but for the slow ones
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow" $(ARGS)

test-slow: .venv/.dev  ## set up, then run the slow tests, or a part of them (SHARD=2/6 is the second of six)
	$(BIN)/python -m pytest -n $(JOBS) -m slow $(if $(SHARD),--shard $(SHARD)) $(ARGS)

test-all: .venv/.dev  ## set up, then run all tests
	$(BIN)/python -m pytest -n $(JOBS) $(ARGS)

test-lowest: .venv/.dev  ## set up the lowest versions that pyproject.toml allows, then run the tests that touch each of them
	$(BIN)/python .ci/lowest.py .venv-lowest -q -n $(JOBS) -m "not slow and not thorough" $(LOWEST) $(ARGS)

test-extras: .venv/.extras  ## set up MLflow, wandb, S3, Hugging Face and the like, then run the tests that use them for real
	$(BIN)/python -m pytest -n $(JOBS) $(EXTRAS) $(ARGS)

mutants: .venv/.dev  ## set up, then see whether tests notice a list of mutations of the source (ARGS="fps" for some of them)
	$(BIN)/python tests/mutants/run_mutants.py $(ARGS)

check: lint  ## format, types, import layers and the fast tests, in under two minutes
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow and not thorough" $(ARGS)

lint: .venv/.dev  ## format, types and import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

lint-page:  ## format and lint of the report's page, where npm can install its one tool
	@if command -v npm >/dev/null && { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund --loglevel=error; }; \
	then node_modules/.bin/biome ci .; else echo "lint-page skipped: npm could not install biome"; fi

docs: .venv/.docs  ## set up, then build the documentation into docs/_build/html, offline; a warning or a dead link inside is an error
	$(BIN)/python -m sphinx -E -W --keep-going -q -b html docs docs/_build/html

links: .venv/.docs  ## do the links of the documentation to other sites work? (asks the network)
	$(BIN)/python -m sphinx -q -b linkcheck docs docs/_build/links

package: .venv/.dev  ## set up, then build sdist and wheel and try both, with the plug-in of examples/, outside of the repository
	$(BIN)/python .ci/try_package.py

screenshots: .venv/.dev  ## pictures of a report for the docs; ARGS names a folder of runs, the default is runs/mini
	$(BIN)/python docs/screenshots.py $(ARGS)

clean:  ## remove the environment, the built documentation and caches; runs stay
	rm -rf .venv .venv-lowest docs/_build docs/reference .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "gotta needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv

# torch first and by its exact version: an open range may pull gigabytes of GPU libraries.
.venv/.core: .venv/bin/python constraints.txt pyproject.toml
	$(BIN)/python -m pip install $(PIP_ARGS) torch==2.13.0
	$(BIN)/python -m pip install $(PIP_ARGS) -e .
	@touch $@

# timm and torchvision only to compare networks with; with their dependencies they would pull another torch.
.venv/.dev: .venv/.core
	$(BIN)/python -m pip install $(PIP_ARGS) -e ".[dev]"
	$(BIN)/python -m pip install $(PIP_ARGS) --no-deps timm==1.0.30 torchvision==0.28.0
	@touch $@

.venv/.extras: .venv/.dev
	PIP_CONSTRAINT= $(BIN)/python -m pip install $(PIP_ARGS) -e ".[extras]"
	@touch $@

.venv/.docs: .venv/.core
	$(BIN)/python -m pip install $(PIP_ARGS) -e ".[docs]"
	@touch $@
