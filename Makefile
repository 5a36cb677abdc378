# Two commands do everything: `make demo` and `make test`. Each makes its own .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Most tests wait for processes and deadlines, so more of them than cores run at once.
JOBS ?= 4
PYTEST := $(BIN)/python -m pytest --numprocesses $(JOBS)

.PHONY: demo test test-all lint clean
.DELETE_ON_ERROR:

demo: $(VENV)/installed
	@sh examples/demo.sh $(BIN)

test: $(VENV)/installed-for-tests lint
	$(PYTEST) -m "not slow"

test-all: test
	$(BIN)/python -m pytest -m slow  # one at a time: several of them measure
	$(BIN)/python -m tests.other_pythons

lint: $(VENV)/installed-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	    { echo "Python 3.10 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	    { echo "$(PYTHON) has no venv module. On Debian or Ubuntu: sudo apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/installed: pyproject.toml | $(VENV)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/installed-for-tests: pyproject.toml | $(VENV)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,dev]'
	@touch $@ $(VENV)/installed

clean:
	rm -rf $(VENV) demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
