# The virtual environment is made on first use; every target can be run again at once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
JOBS ?= 2

.PHONY: demo test test-lowest long devices coverage lint docs linkcheck dist reproduce bench clean help

# Tests run side by side: threads of BLAS and OpenMP that wait for each other's cores make them crawl.
test test-lowest long devices coverage dist: export OMP_NUM_THREADS = 1
test test-lowest long devices coverage dist: export OPENBLAS_NUM_THREADS = 1

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/ \t/'

demo: $(VENV)/.run  ## compare the five methods on generated data, and write a report
	$(BIN)/localmkl demo

test: $(VENV)/.dev  ## run all tests; those of devices too, if PyTorch is there
	$(BIN)/python -m pytest -n $(JOBS)

test-lowest: $(LOWEST)/.dev  ## run all tests with the lowest versions that pyproject.toml allows, on Python 3.11
	# Old versions warn of what is newer than they are.
	NUMBA_CACHE_DIR=$(CURDIR)/$(LOWEST)/numba $(LOWEST)/bin/python -m pytest -n $(JOBS) -W ignore::DeprecationWarning

coverage: $(VENV)/.dev  ## run all tests, and say which lines and branches of the package none of them runs
	$(BIN)/python -m pip install --quiet --group coverage
	$(BIN)/python -m pytest -n $(JOBS) --cov --cov-report=term-missing:skip-covered

long: $(VENV)/.dev  ## run the tests that take long: benchmarks at tiny sizes
	$(BIN)/python -m pytest -n $(JOBS) -m long

devices: $(VENV)/.dev  ## install PyTorch, and run the tests of devices: in memory, and on a GPU where there is one
	$(BIN)/python -m pip install --quiet --group gpu
	$(BIN)/python -m pytest -n $(JOBS) tests/devices tests/cli/test_devices.py

lint: $(VENV)/.dev  ## ruff, mypy, import-linter, codespell, and the schemas of files for other services
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.readthedocs .readthedocs.yaml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

docs: $(VENV)/.docs  ## check the English, run the first uses, and build the documentation with all examples; warnings are errors
	$(BIN)/python docs/check_words.py
	$(BIN)/sphinx-build -W --keep-going docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

linkcheck: docs  ## check the links within the built documentation
	$(BIN)/python docs/check_links.py docs/_build/html

dist: $(VENV)/.dev  ## build wheel and sdist, and try them in empty environments, with each extra
	rm -rf dist
	$(BIN)/python -m pip install --quiet --group dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m pytest -n 0 -m dist tests/packaging

reproduce: $(VENV)/.dev  ## list the experiments of the paper, and write their summaries from the rows that are there
	$(BIN)/python -m reproduction list
	$(BIN)/python -m reproduction page

bench: $(VENV)/.dev  ## run the benchmarks
	$(BIN)/python -m benchmarks

$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.run: pyproject.toml | $(VENV)/bin/pip
	$(BIN)/python -m pip install --quiet --editable '.[frames]'
	touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.run
	$(BIN)/python -m pip install --quiet --no-compile --group test --group lint
	touch $@

$(VENV)/.docs: pyproject.toml $(VENV)/.run
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

$(LOWEST)/.dev: pyproject.toml | $(VENV)/bin/pip
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv venv --quiet --clear --python 3.11 $(LOWEST)
	VIRTUAL_ENV=$(LOWEST) $(BIN)/uv pip install --quiet --resolution lowest-direct --editable . --group test
	touch $@

clean:  ## remove the environment and caches
	rm -rf $(VENV) $(LOWEST) .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache build dist
	rm -rf docs/_build docs/auto_examples docs/generated docs/sg_execution_times.rst
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
