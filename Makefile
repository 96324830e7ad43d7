# Each target sets up .venv from nothing but python3 and make.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: demo test test-all test-browser lint format bench peers clean

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("nacre needs Python 3.11 or newer, found " + sys.version.split()[0] + "; set PYTHON=") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/nacre demo --output demo

# Tests of the ledger start a PostgreSQL server of their own (Debian: apt install postgresql); without one they fail.
# Tests of clusters and URLs need Ray and fsspec (pip install 'nacre[distributed]') and are skipped without.
# One thread per worker: the threads of two workers on two cores would wait for each other most of the time.
# Most of the time goes into compiling small programs once: `make test` lets XLA optimise and fuse them as little as it
# can, and `make test-all` as users do.
test: export OMP_NUM_THREADS = 1
test: export JAX_DISABLE_MOST_OPTIMIZATIONS = 1
test: export XLA_FLAGS = --xla_cpu_use_fusion_emitters=false
test: $(STAMP) postgresql
	$(BIN)/python -m pytest -n 2 --dist worksteal -rs --durations=8

test-all: export OMP_NUM_THREADS = 1
test-all: $(STAMP) postgresql
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'slow or not slow' -rs --durations=8

.PHONY: postgresql
postgresql: $(STAMP)
	@$(BIN)/python -c 'import sys; from benchmarks.ledger import postgresql_server as p; sys.exit(None if p.find() else p.MISSING)'

# Needs Chromium from the system's packages, installs nothing, and keeps pictures of the pages in build/screenshots.
test-browser: $(STAMP)
	$(BIN)/python -c 'import sys; from tests.browser import chromium; sys.exit(None if chromium.find() else chromium.MISSING)'
	NACRE_SCREENSHOTS=build/screenshots $(BIN)/python -m pytest tests/browser --durations=5

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# make bench NAME=sketch-adult SEEDS=5; needs NACRE_DATA for the real tables.
bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	$(BIN)/python -m benchmarks $(if $(NAME),run $(NAME) $(if $(SEEDS),--seeds $(SEEDS)),list)

# Other packages for `make bench NAME=peers-adult`, each in an environment of its own under benchmarks/.work.
peers:
	$(PYTHON) benchmarks/peers/build.py $(PEERS)

clean:
	rm -rf .venv demo build dist
