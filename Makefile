# `make run` and `make test` are all the set-up there is.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup run test demo clean

setup: .venv/installed

# Bytecode is compiled on first use: that is faster than compiling all of every dependency.
.venv/installed: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing Kotae into .venv …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e .
	@touch $@

.venv/installed-dev: .venv/installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e '.[dev]'
	@touch $@

run: setup
	@$(BIN)/kotae chat

demo: setup
	@$(BIN)/python -m benchmarks.demo

test: .venv/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q

clean:
	rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .pytest_cache
