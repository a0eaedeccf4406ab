# The tasks of the project; `make` alone lists them.
#
# All of them work in a fresh clone: the first one that needs it creates a virtual environment in $(VENV) and
# installs kwhatif there, once, and again when pyproject.toml changes.

PYTHON ?= python3
VENV ?= .venv
ARGS ?=

# Tests start the command hundreds of times, and each start compiles all modules anew where this is set.
unexport PYTHONDONTWRITEBYTECODE

BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

# Show a kwhatif command and run it. Exit code 1 with something to read is an answer (a pod found no node); all else
# but 0 is a failure.
define answer
@printf '\n$$ kwhatif %s\n\n' "$(strip $(1))"
@answer=$$($(BIN)/kwhatif $(strip $(1))); code=$$?; printf '%s\n' "$$answer"; \
	test $$code -eq 0 || { test $$code -eq 1 && test -n "$$answer"; }
endef

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## list the tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- the environment

# The very releases that .ci/lock.txt names, by their hashes; then kwhatif itself, which needs nothing more.
LOCKED := $(BIN)/python -I .ci/lock.py install
SELF := $(PIP) install --no-deps --no-build-isolation -e .

$(INSTALLED): pyproject.toml .ci/lock.txt
	@$(ensure_venv)
	$(LOCKED) users
	$(SELF)
	@touch $@

$(INSTALLED_DEV): pyproject.toml .ci/lock.txt
	@$(ensure_venv)
	$(LOCKED) dev
	$(SELF)
	@touch $@ $(INSTALLED)

ensure_venv = $(BIN)/python -m pip --version >/dev/null 2>&1 || { \
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "kwhatif needs Python 3.11 or later; name one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }; \
	echo "creating $(VENV)"; $(PYTHON) -m venv $(VENV); }

# --- the tasks

.PHONY: demo-serve
demo-serve: $(INSTALLED_DEV) ## answer questions about the sample cluster over HTTP, until Ctrl-C
	@$(BIN)/kwhatif serve --snapshot samples/cluster $(ARGS)

.PHONY: demo
demo: $(INSTALLED) ## place the sample pods on the sample cluster, and explain one that does not fit
	$(call answer, place samples/manifests/web.yaml samples/manifests/urgent.yaml samples/manifests/too-big.yaml \
		--snapshot samples/cluster)
	$(call answer, explain samples/manifests/too-big.yaml --snapshot samples/cluster)

.PHONY: test
test: $(INSTALLED_DEV) ## run the tests but for the long ones (ARGS='-k taints' to choose)
	$(BIN)/python -m pytest -n auto --maxprocesses 4 -m 'not long' $(ARGS)

.PHONY: test-long
test-long: $(INSTALLED_DEV) ## run the tests that take seconds each (ARGS as for test)
	$(BIN)/python -m pytest -n auto --maxprocesses 4 -m long $(ARGS)

.PHONY: test-browser
test-browser: $(INSTALLED_DEV) ## open reports in a real Chromium, which is installed where apt-get may (ARGS as for test)
	$(LOCKED) browser
	@KWHATIF_CHROMIUM=$$(.ci/chromium --install) && export KWHATIF_CHROMIUM && \
		$(BIN)/python -m pytest -n 0 tests/browser $(ARGS)

.PHONY: test-elsewhere
test-elsewhere: ## run the tests with other Pythons, dependencies, clocks, zones and users (ARGS='--strict oldest')
	@$(ensure_venv)
	$(PIP) install uv
	$(BIN)/python .ci/elsewhere.py $(ARGS)

.PHONY: test-fleet
test-fleet: $(INSTALLED_DEV) ## run studies on real clusters of Dask and Ray, on this machine (ARGS as for test)
	$(LOCKED) fleet
	KWHATIF_TEST_FLEET=1 $(BIN)/python -m pytest -n 0 tests/fleet/clusters $(ARGS)

.PHONY: coverage
coverage: $(INSTALLED_DEV) ## run the tests and see that they reach as many lines as pyproject.toml wants
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --cov --cov-report=term $(ARGS)

.PHONY: mutation
mutation: $(INSTALLED_DEV) ## break the code in a sample of places and see which tests fail (ARGS='--each 10 --seed 2')
	$(BIN)/python -m tests.mutation $(ARGS)

.PHONY: fuzz
fuzz: $(INSTALLED_DEV) ## give every command inputs that are wrong in one place each (ARGS='--inputs 5000 --seed 2')
	$(BIN)/python -m tests.fuzz $(ARGS)

.PHONY: laws
laws: $(INSTALLED_DEV) ## hold answers to laws between them over made-up worlds (ARGS='FIRST_SEED COUNT')
	@$(BIN)/python -m tests.consistency.laws $(ARGS)

.PHONY: check
check: $(INSTALLED_DEV) ## everything CI runs: subjects of commits, lint, format, types, tests
	@$(BIN)/python .ci/commits.py
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory test-long

.PHONY: docs
docs: $(INSTALLED) ## make the documents a site in build/site, with pictures and reports of real runs
	$(LOCKED) docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --config-file .ci/site/mkdocs.yml
	@echo build/site/index.html

.PHONY: conformance
conformance: $(INSTALLED) ## replay large recorded sets (CONFORMANCE=DIR)
	@set -- '$(CONFORMANCE)'/*.jsonl.gz; test -e "$$1" || { \
		echo "make $@: no recordings in '$(CONFORMANCE)'; name their directory: CONFORMANCE=DIR make $@" >&2; exit 1; }; \
	$(BIN)/kwhatif conformance "$$@" $(ARGS)

.PHONY: happened
happened: $(INSTALLED_DEV) ## hold what place says of changes against what became of them (HAPPENED=FILE)
	@test -f '$(HAPPENED)' || { \
		echo "make $@: no recorded changes in '$(HAPPENED)'; name the file: HAPPENED=FILE make $@" >&2; exit 1; }
	@$(BIN)/python -m tests.happened.judge '$(HAPPENED)'

.PHONY: verdicts
verdicts: $(INSTALLED_DEV) ## hold what expand refuses against a real API server's answers (VERDICTS=FILE)
	@test -f '$(VERDICTS)' || { \
		echo "make $@: no recorded verdicts in '$(VERDICTS)'; name the file: VERDICTS=FILE make $@" >&2; exit 1; }
	@$(BIN)/python -m tests.admission.verdicts.judge '$(VERDICTS)' $(ARGS); inside=$$?; \
		$(BIN)/python -m tests.admission.verdicts.through_command '$(VERDICTS)' && exit $$inside

.PHONY: bench
bench: $(INSTALLED) ## time the scheduling loop on small generated workloads
	@mkdir -p .benchmarks
	@for workload in basic spread affinity preempt; do \
		$(BIN)/python benchmarks/workloads.py $$workload 500 200 > .benchmarks/$$workload.json || exit 1; \
	done
	@$(BIN)/python benchmarks/engine.py $(ARGS) .benchmarks/basic.json .benchmarks/spread.json \
		.benchmarks/affinity.json .benchmarks/preempt.json
	@$(BIN)/python benchmarks/volumes.py --nodes 200 --pods 200
	@$(BIN)/python benchmarks/batch.py --nodes 200 --pods 1000
	@$(BIN)/python benchmarks/devices.py --nodes 50 --devices 8 --pods 200
	@$(BIN)/python benchmarks/capacity.py --nodes 100 --repeat 1
	@$(BIN)/python benchmarks/karpenter.py --pods 500

.PHONY: lock
lock: ## renew .ci/lock.txt when dependencies have changed (ARGS=--upgrade for new releases)
	@$(ensure_venv)
	$(PIP) install uv
	$(BIN)/python .ci/lock.py renew $(ARGS)

.PHONY: release
release: $(INSTALLED) ## make wheel, sdist and program in dist, and try them as users would
	$(BIN)/python .ci/release.py all

.PHONY: clean
clean: ## remove everything that was made here
	rm -rf $(VENV) build dist .benchmarks .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
	find . -maxdepth 1 -name '*.egg-info' -exec rm -rf {} +
