# Everything a newcomer needs: `make demo` and `make test` do all the set-up themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DATA := $(wildcard ../shared/data)
export SEQLOOM_DATA ?= $(if $(DATA),$(abspath $(DATA)))
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo browser test test-slow mutants bench bench-recurrence lint format docs clean

demo: $(VENV)/ready
	$(BIN)/seqloom demo

# The studio is tested in Debian's Chromium. Where it is missing and cannot be had, those tests are
# skipped, and say so.
browser:
	@if command -v chromium >/dev/null; then :; \
	elif test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
	  echo "Installing chromium, for the tests of the studio"; \
	  (apt-get -qq update && DEBIAN_FRONTEND=noninteractive \
	    apt-get -qq install --no-install-recommends chromium) >/dev/null 2>&1 || \
	  echo "chromium could not be installed: the tests of the studio in a browser are skipped"; \
	else \
	  echo "There is no chromium here, and only root on Debian can install it: the tests of the"; \
	  echo "studio in a browser are skipped. To have them: sudo apt-get install chromium"; \
	fi

test: $(VENV)/ready browser
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-slow: $(VENV)/ready
	$(BIN)/python -m pytest -m slow

# One-line bugs, planted in a copy: do the tests notice? Ten in each room, which takes an hour.
mutants: $(VENV)/ready
	$(BIN)/python scripts/mutants.py

bench: $(VENV)/ready
	$(BIN)/python benchmarks/pronounce_throughput.py
	$(BIN)/python benchmarks/pronounce_decoding.py

bench-recurrence: $(VENV)/ready
	$(BIN)/python benchmarks/recurrence.py

lint: $(VENV)/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/ready
	$(BIN)/python scripts/error_pages.py
	$(BIN)/python scripts/option_pages.py

# Made anew when what is installed changes, and only then. Torch comes first and pinned: the CPU
# build satisfies every later requirement, so that nothing else brings in another one.
$(VENV)/ready: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Seqloom needs Python 3.11 or newer: make PYTHON=python3.11 demo"; exit 1; }
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[demo,dev]'
	@touch $@

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis
