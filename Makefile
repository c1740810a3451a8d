# Two commands do all the set-up: `make say TEXT='...'` speaks, `make test` checks everything.
PYTHON ?= python3
TEXT ?= Hello，今天天气真不错！
OUT ?= say.wav
VOICE ?=
TORCH ?= torch==2.13.0
export TEXT

.PHONY: say test check slow clean

say: .venv/installed
	@.venv/bin/cosylite say $(if $(VOICE),--voice "$(VOICE)") -o "$(OUT)" -- "$$TEXT"

test: check
	.venv-test/bin/pytest -q -m "not slow"

check: .venv-test/installed
	.venv-test/bin/ruff check .
	.venv-test/bin/mypy --strict src/cosylite

slow: .venv-test/installed
	.venv-test/bin/pip install -q --disable-pip-version-check -e '.[quality]'
	.venv-test/bin/pytest -q -m slow

clean:
	rm -rf .venv .venv-test

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	.venv/bin/pip install -q --disable-pip-version-check -e .
	@touch $@

.venv-test/installed: pyproject.toml
	$(PYTHON) -m venv .venv-test
	.venv-test/bin/pip install -q --disable-pip-version-check $(TORCH)
	.venv-test/bin/pip install -q --disable-pip-version-check -e '.[test,lab,serve,family]'
	@touch $@
