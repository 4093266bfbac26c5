# Everything a contributor or CI runs. `make demo` and `make test` set up what they need.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: help install test lint types unit demo stress agents screenshots clean

help:
	@echo "make install  create $(VENV) with the recollect command"
	@echo "make demo     index the sample workspace and ask it questions"
	@echo "make test     lint, types and tests"
	@echo "make stress   many processes, edits and kills on one index: ten minutes"
	@echo "make agents   install real agents (npm, 2 GB) and ask Recollect through them"
	@echo "make screenshots  take the pictures of docs/web.md anew; needs Chromium"
	@echo "make clean    remove $(VENV) and caches"

install: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Recollect needs Python 3.11 or newer: make PYTHON=python3.12 install" >&2; exit 1; }
	@echo "Setting up $(VENV) (the tool and what its tests need) …"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable . --group dev
	@touch $(INSTALLED)

test: lint types unit

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy

unit: $(INSTALLED)
	$(BIN)/pytest -n auto --dist loadfile

demo: $(INSTALLED)
	@sh examples/demo.sh $(BIN)/recollect

stress: $(INSTALLED)
	$(BIN)/python -m tests.support.stress
	$(BIN)/python -m tests.support.kill_points

agents: $(INSTALLED)
	PYTHON=$(CURDIR)/$(BIN)/python sh integrations/peers.sh

screenshots: $(INSTALLED)
	REQUIRE_BROWSER=1 TAKE_SCREENSHOTS=1 $(BIN)/pytest tests/web

clean:
	rm -rf $(VENV) .demo .mypy_cache .pytest_cache .ruff_cache .hypothesis
