# Everything a newcomer needs: `make demo` and `make test` do all the set-up themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DATA := $(wildcard ../shared/data)
export SEQLOOM_DATA ?= $(if $(DATA),$(abspath $(DATA)))
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test test-slow bench bench-recurrence lint format docs clean

demo: $(VENV)/ready
	$(BIN)/seqloom demo

test: $(VENV)/ready
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-slow: $(VENV)/ready
	$(BIN)/python -m pytest -m slow

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
