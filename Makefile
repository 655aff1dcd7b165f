# Every target makes the environment it needs. Only Python 3.11+ and make are expected.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO := $(VENV)/.ready-demo
# tests/dealing.py gives whole groups to each process: what is dear to make is made once.
SPREAD = -n $(or $(TEST_PROCESSES),auto) --dist loadscope
# Tests of servers and browsers often wait: one process more than there are cores fills the gaps.
test: SPREAD = -n $(or $(TEST_PROCESSES),$(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')) --dist loadscope
# Tests start hundreds of processes: none should compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo quick test test-portable test-lowest test-newest browser docs lint studies bench clean help

help:
	@echo "make demo     run the main job on the built-in example"
	@echo "make test     run all tests"
	@echo "make quick    those that take no time, without a browser"
	@echo "make test-portable  the tests that hold numbers, as another processor would run them"
	@echo "make test-lowest    quick tests with the lowest versions that pyproject.toml allows"
	@echo "make test-newest    the same with the newest, pre-releases among them; may fail"
	@echo "make browser  what the tests in a browser need (chromium, axe-core)"
	@echo "make docs     the site of the pages, in build/site"
	@echo "make lint     formatting, style, types and who imports whom"
	@echo "make studies  the paper's simulations and case studies in full"
	@echo "make bench    speed and memory, to 100 million labels (less: BENCH_MOST=1000000)"

# The demo needs the package and its reports; tests and docs need much more, a JVM's worth of Spark among it.
$(DEMO): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[report]'
	@touch $@

# What the tests stand on comes to two hundred packages, among whose versions pip looks around for minutes; uv takes seconds.
# On a slow line or a busy machine a large package takes longer than uv's own patience, half a minute.
$(READY): $(DEMO)
	$(BIN)/python -m pip install --quiet 'uv>=0.4'
	UV_HTTP_TIMEOUT=300 $(BIN)/uv pip install --quiet --python $(BIN)/python --editable '.[dev,spark]' || \
	  $(BIN)/python -m pip install --quiet --editable '.[dev,spark]'
	@touch $@

demo: $(DEMO)
	$(BIN)/hero demo --output hero-demo

# What the browser tests need. Without it they are skipped; with CI=true that is a failure.
AXE := build/browser/axe.min.js
browser: $(READY)
	@command -v chromium chromedriver >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install --yes --no-install-recommends chromium chromium-driver fonts-dejavu-core; } || \
	  [ "$$CI" != true ]
	@test -f $(AXE) || \
	  { mkdir -p build/browser && cd build/browser && npm pack --silent axe-core@4 >/dev/null && \
	    tar -xzf axe-core-*.tgz --strip-components=1 package/axe.min.js; } || [ "$$CI" != true ]

test: $(READY) browser
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest $(SPREAD) $(PYTEST_ARGS)

# Every test of the pages needs a server or a browser: not even to load these saves two seconds for each process.
quick: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest $(SPREAD) --ignore tests/web --ignore tests/browser -m "not slow and not browser and not spark and not simulation" $(PYTEST_ARGS)

test-portable: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/other_processor.py -m numbers $(SPREAD) $(PYTEST_ARGS)

# One test or more of everything that rests on another package: tables, the command, charts, reports, store and server.
# Packages of other ages warn of each other; that is not what these lanes look for.
QUICK := tests/io/test_reading.py tests/io/test_round.py tests/io/test_bad_input.py tests/cli/test_cli_bad_input.py tests/model/test_em.py \
  tests/io/test_exports.py tests/report/test_charts.py tests/report/test_report.py tests/cli/test_cli.py::test_estimate_is_estimate_rate \
  tests/cli/test_cli.py::test_help_fits_and_explains_every_option tests/store/test_store.py::test_a_round_comes_out_as_it_went_in \
  tests/store/test_store_cli.py::test_rounds_are_listed tests/web/test_web.py::test_a_round_says_what_the_library_says \
  tests/web/test_web.py::test_a_file_is_shown_then_added tests/web/test_web_attacks.py::test_a_form_holds_one_file_and_little_else
# A test that waits forever says where.
QUIET := -o faulthandler_timeout=300 -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning -W ignore::FutureWarning

test-lowest: VERSIONS := --upgrade --resolution lowest-direct
test-newest: VERSIONS := --upgrade --prerelease allow
test-newest: MAY_FAIL := -
test-lowest test-newest:
	$(PYTHON) -m venv build/$@
	build/$@/bin/python -m pip install --quiet --upgrade uv
	$(MAY_FAIL)build/$@/bin/uv pip install --quiet --python build/$@/bin/python $(VERSIONS) --editable '.[dev]'
	$(MAY_FAIL)OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 build/$@/bin/python -m pytest $(QUIET) -n $(or $(TEST_PROCESSES),auto) $(QUICK) $(PYTEST_ARGS)

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "build/site/index.html"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

studies: $(READY)
	mkdir -p build/studies
	for study in exp1-small exp1-large exp2 defect safety; do \
	  $(BIN)/hero study $$study --output build/studies/$$study.csv || exit 1; done
	$(BIN)/hero study coverage --replications 1000 --output build/studies/coverage.csv

bench: $(READY)
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	mkdir -p build/bench
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/paper_grid.py
	$(BIN)/python benchmarks/intervals.py
	$(BIN)/python benchmarks/em.py
	$(BIN)/python benchmarks/scale.py $(if $(BENCH_MOST),--most $(BENCH_MOST))
	$(BIN)/python benchmarks/large.py
	$(BIN)/python benchmarks/spark_cluster.py
	$(BIN)/python benchmarks/store.py
	$(BIN)/python benchmarks/serve.py
	$(BIN)/python benchmarks/report.py

clean:
	rm -rf $(VENV) build hero-demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
