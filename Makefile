# `make run` and `make test` are all the set-up there is.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup run test browser-test demo clean

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
	@$(BIN)/kotae run --sample

# Needs no input and no key: documents go in, three questions are answered, one is honestly not found and listed.
demo: setup
	@home=$$(mktemp -d) && trap 'rm -rf "$$home"' EXIT && export KOTAE_HOME="$$home" KOTAE_MODEL=extractive && \
	kotae() { status=$$1; shift; printf '\n\033[1m$$ kotae'; printf ' %s' "$$@"; printf '\033[0m\n'; \
	          $(BIN)/kotae "$$@" || test $$? -eq $$status; } && \
	kotae 0 ingest bot/sample --collection sample && \
	kotae 0 ask "国内出張の申請は、出発の何日前までに出せばいいですか？" && \
	kotae 0 ask "How much is the daily allowance for a business trip abroad?" && \
	kotae 0 ask "How many reviews does a change need before it is merged, and who speaks to the press about an incident?" && \
	kotae 3 ask "What is the wifi password of the Osaka office?" && \
	kotae 0 unanswered

# The tests start many programs: with bytecode, also where the environment asks for none.
test: .venv/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -q -n 2 --dist loadfile

# Drives a real Chromium (Debian: apt-get install chromium) through every page; pictures in build/screenshots.
browser-test: .venv/installed-browser
	$(BIN)/python -m pytest -q -o addopts= -p no:schemathesis tests/browser

.venv/installed-browser: .venv/installed-dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e '.[dev,browser]'
	@touch $@

clean:
	rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .pytest_cache
