# `make help` lists what there is. Every target sets up .venv by itself.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
BENCH  := $(VENV)/.bench
DOCS   := $(VENV)/.docs
WARM   := $(VENV)/.warm
T      ?= all
FULL   := 10
MINUTES ?= $(FULL)

.DEFAULT_GOAL := help
.PHONY: help demo test torture lint bench docs clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' \
	  || { echo "rowlaw needs Python 3.11 to 3.13: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[jvm,delta,demo,dev]'
	@touch $@

$(BENCH): $(READY)
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	@touch $@

$(DOCS): $(READY)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

# Compiling the kernels takes longer than the demo itself.
$(WARM): $(READY)
	@$(BIN)/rowlaw warm
	@touch $@

demo: $(WARM) ## Show what rowlaw does on a real table: laws, planted errors, a law that ends, a report
	@$(BIN)/rowlaw demo

# Two processes: each has a Spark of its own, and a file's tests stay together, in the order of tests/conftest.py (else
# files of few tests would come last, which are the longest). Kernels are compiled before, or every
# process that a test starts would compile them for itself.
test: $(WARM) ## Run all tests
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

# Only a full run is what the page shows.
torture: $(READY) ## Try to break it, for about twenty minutes: make torture MINUTES=2 (docs/torture.md)
	$(BIN)/python -m tests.torture --minutes $(MINUTES) --out $(if $(filter $(MINUTES),$(FULL)),benchmarks/results/summary.json,$(VENV)/torture.json)

lint: $(READY) ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(BENCH) ## Compare with peers, about an hour; one target: make bench T=encode (names: python -m benchmarks --list)
	$(BIN)/python -m benchmarks $(T)
	$(BIN)/python -m benchmarks.pages

docs: $(DOCS) ## Build the documentation into site/: its examples are run, its figures are those that make bench wrote into docs/
	$(BIN)/python -m pytest tests/unit/test_docs.py
	NO_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis site rowlaw-demo
