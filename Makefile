# The two commands of the README are `make demo` and `make test`. Every target first makes .venv and builds the native modules.
.DEFAULT_GOAL := help
PYTHON_BIN := .venv/bin/python
PYTEST := $(PYTHON_BIN) -m pytest
# Tests run side by side in so many processes, as many of them wait. With ARGS they run in one, unless ARGS has -n itself.
WORKERS ?= 4
# Scenarios with two drivers and a virtual machine or two; the conformance suite runs before them, because it measures milliseconds.
SCENARIOS ?= 4
PATHS := hatch_build.py runtime codegen conformance pcap tests benchmarks examples

# Tests start hundreds of commands: bytecode spares each the compilation, and stays out of the sources.
test interop: export PYTHONPYCACHEPREFIX := $(CURDIR)/build/bytecode
test interop: export PYTHONDONTWRITEBYTECODE :=

.PHONY: help build demo test lint check-generated interop soak tsan asan clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "make %-16s %s\n", $$1, $$2 }'

build: ## make .venv (1.5 GB) and compile the native modules that are stale
	@.ci/venv.sh
	@$(PYTHON_BIN) hatch_build.py

demo: build ## a million messages over a lossy network, captured, read back with Spark, replayed (keeps 1.3 GB in /tmp)
	@.venv/bin/aerowire demo

test: build ## run the tests, 8 minutes (ARGS="-k name" selects, one after another; WORKERS=0 runs all so, as a debugger needs)
	@.ci/debian.sh
	@$(PYTHON_BIN) -m tests.support.prepare
	$(PYTEST) -m "not interop and not soak" $(or $(ARGS),-n $(WORKERS) --ignore=tests/interop)

lint: build ## ruff, mypy --strict, stubtest, import rules
	@.ci/lint.sh

check-generated: build ## compare generated/ with what spec/ says
	.venv/bin/codegen check

interop: build ## run everything against the official Java implementation (needs java and mvn)
ifdef ARGS
	$(PYTEST) tests/interop tests/conformance -m interop $(ARGS)
else
	@failed=0; \
	$(PYTEST) tests/conformance -m interop || failed=1; \
	$(PYTEST) tests/interop -m interop -n $(SCENARIOS) --interop-matrix=docs/interop.md || failed=1; \
	exit $$failed
endif

soak: build ## run the long bars at full size (BAR=name for one, BAR=name/part); resumable, state in soak/
	$(PYTHON_BIN) -m tests.soak.run $(BAR)

tsan: ## run the thread tests on an instrumented build
	@.ci/tsan.sh

asan: ## run the tests of native code on a build with address and undefined behaviour sanitizers
	@.ci/asan.sh $(ARGS)

clean: ## remove what was built, keep .venv
	rm -rf build dist soak .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find runtime generated codegen conformance pcap tests \( -name '*.so' -o -name '__pycache__' \) -prune -exec rm -rf {} +
