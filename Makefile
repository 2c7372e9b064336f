# `make run` and `make test` are all the set-up there is.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup servers run test types tests soak browser-test demo lock clean

setup: .venv/installed
# with the clients of PostgreSQL and Qdrant servers
servers: .venv/installed-servers

# Each package as its lock file names it, with its hash, by the pip that a lock names; then Kotae itself, built by the
# setuptools in the lock.
# Bytecode is compiled on first use: that is faster than compiling all of every dependency; pip's own (9 MB) is not kept.
# Two pips unpack the packages, half each, in two thirds of the time of one.
PIP = PYTHONDONTWRITEBYTECODE=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
HALF = awk '/^[a-z]/ {n++} n % 2 == $(1)' $< >.venv/half-$(1).lock && \
	$(PIP) --no-deps --require-hashes -r .venv/half-$(1).lock
# A venv that could not be finished, as where Debian's python3-venv is missing, is none.
VENV = $(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>&- || { \
	echo "Kotae needs Python 3.11 to 3.14, and $(PYTHON) is none: $$($(PYTHON) --version 2>&1). Name another one: make PYTHON=python3.13 …"; \
	echo "Kotae には Python 3.11〜3.14 が必要です。別の Python を指定してください: make PYTHON=python3.13 …"; exit 1; }; \
	$(PYTHON) -m venv --clear .venv || { rm -rf .venv; exit 1; }
INSTALL = test -x $(BIN)/pip || { $(VENV); }; \
	echo "Installing Kotae into .venv …"; \
	$(PIP) --require-hashes -r requirements-pip.lock && \
	{ { $(call HALF,0); } & { $(call HALF,1); } && wait $$!; } && \
	PYTHONWARNINGS='ignore:Editable installation' $(PIP) --no-deps --no-build-isolation -e . && touch $@

.venv/installed: requirements.lock requirements-pip.lock pyproject.toml
	@$(INSTALL)

.venv/installed-%: requirements-%.lock requirements-pip.lock pyproject.toml
	@$(INSTALL)
	@touch .venv/installed

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
	kotae 3 ask "When does the ferry to the penguin island leave?" && \
	kotae 0 unanswered

# Types are checked beside the tests, which wait for disks and servers nearly half of their time: hence more workers than cores.
test: .venv/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@$(MAKE) --no-print-directory --jobs=2 types tests

types: .venv/installed-dev
	$(BIN)/mypy

# The tests start many programs: with bytecode, also where the environment asks for none.
# What fails among the others is shown, and run once more alone: real servers and processes on a machine that does something
# else, too. What fails twice fails, and so does a run that broke off (any status but pytest's 1).
PYTEST = env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest
tests: .venv/installed-dev
	$(PYTEST) -q --workers 6 || \
	{ test $$? -eq 1 && $(PYTEST) -q --last-failed --last-failed-no-failures none; }

# Hours, not minutes: kill -9 at any moment, faults of the platforms, property tests with other examples, and each safeguard
# taken out in turn. `make soak SEED=7` does again what a run with that seed did; HISTORIES names clones of public handbooks
# whose commits are replayed.
ifndef SEED
SEED := $(shell od -An -N3 -tu4 /dev/urandom | tr -d ' ')
endif
soak: .venv/installed-dev
	@echo "seed $(SEED)"
	$(BIN)/python -m benchmarks.crash --kills 400 --seed $(SEED)
	$(BIN)/python -m benchmarks.slack --kills 200 --seed $(SEED)
	$(BIN)/python -m benchmarks.slack --chaos 50 --seed $(SEED)
	$(BIN)/python -m benchmarks.discord --kills 200 --seed $(SEED)
	$(BIN)/python -m benchmarks.machines --seconds 3600 --seed $(SEED)
	$(BIN)/python -m benchmarks.source_faults --seed $(SEED)
	$(BIN)/python -m benchmarks.leaks --steps 2500 --seed $(SEED)
	$(BIN)/python -m benchmarks.weeks --seed $(SEED)
	$(BIN)/python -m benchmarks.website --seed $(SEED)
	$(foreach clone,$(HISTORIES),$(BIN)/python -m benchmarks.living $(clone) --seed $(SEED) &&) true
	$(BIN)/python -m pytest -q --workers 4 --long -o faulthandler_timeout=7200 --hypothesis-profile random --hypothesis-seed $(SEED)
	$(BIN)/python -m benchmarks.mutations --no-baseline

# Drives a real Chromium (Debian: apt-get install chromium) through every page; pictures in build/screenshots.
browser-test: .venv/installed-dev
	$(BIN)/python -m pytest -q -o addopts= -p no:schemathesis tests/browser

# The lock files of all systems, after a change in pyproject.toml; `make lock UPGRADE=--upgrade` takes newer releases.
LOCK = uv pip compile --quiet --universal --generate-hashes $(UPGRADE)
# Of magika, which MarkItDown requires and nothing here runs, they name the wheel without the command line (31 MB of Rust).
MAGIKA = /^magika==/,/\# via/
ANY = --no-deps --only-binary :all: --platform any --implementation py --abi none
lock:
	$(LOCK) --group pip -o requirements-pip.lock
	$(LOCK) --group build pyproject.toml -o requirements.lock
	$(LOCK) --group build --extra postgres --extra qdrant pyproject.toml -o requirements-servers.lock
	$(LOCK) --group build --all-extras pyproject.toml -o requirements-dev.lock
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && sed -n '$(MAGIKA)p' requirements.lock >"$$folder/lock" && \
	$(PYTHON) -m pip download --quiet $(ANY) --require-hashes -d "$$folder" -r "$$folder/lock" && \
	hash=$$($(PYTHON) -m pip hash "$$folder"/magika-*.whl | sed -n 's/^--hash=//p') && \
	for lock in requirements.lock requirements-servers.lock requirements-dev.lock; do \
		sed "$(MAGIKA){/--hash/{/$$hash/!d;s/ .$$//;};}" $$lock >"$$folder/new" && cp "$$folder/new" $$lock; \
	done

clean:
	rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .pytest_cache
