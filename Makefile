# Every target sets up .venv first, from requirements.lock; that takes a moment the first time.

.DEFAULT_GOAL := help
SHELL := /bin/bash
BIN := .venv/bin
READY := .venv/ready
# Use a memory disk if there is one: most tests are not about disks, but wait for them.
IN_MEMORY := $(shell test "$$(df --output=avail /dev/shm 2> /dev/null | tail -1)" -gt 8000000 2> /dev/null && echo TMPDIR=/dev/shm)

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(READY): requirements.lock pyproject.toml tools/set-up
	@tools/set-up
	@touch $@

run: $(READY) ## Run the whole service with its own chain on this machine
	$(BIN)/imprint dev

test: $(READY) ## Run the tests that need Python alone
	@# What failed beside other tests is tried once more alone: what fails twice is broken.
	$(IN_MEMORY) $(BIN)/pytest -q -n 3 --dist worksteal || \
		$(IN_MEMORY) $(BIN)/pytest -q --last-failed --last-failed-no-failures none

fuzz: $(READY) ## Send random requests and compare the responses with the description (CASES=2000)
	CASES=$(or $(CASES),2000) $(BIN)/pytest -q tests/fuzz

fuzz-parsers: $(READY) tests/parsers/.venv/ready ## Fuzz the parsers by coverage (RUNS=1000 inputs each, or MINUTES=60 each; TARGET=name)
	PYTHONPATH=src:. tests/parsers/.venv/bin/python -m tests.parsers.fuzz $(if $(TARGET),--target $(TARGET)) \
		$(if $(RUNS),--runs $(RUNS)) $(if $(MINUTES),--minutes $(MINUTES) --jobs $$(nproc))

check: $(READY) ## Lint, formatting, types, import contracts and house rules (with Node: of all TypeScript, too)
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory check-site; \
		else echo "Node is not here, so no TypeScript is checked."; fi
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest -q tests/house

fix: $(READY) ## Repair what lint and formatting can repair
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python -m tools.write_tables
	$(BIN)/python -m tools.write_records
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory fix-site; fi

fix-site: site/node_modules/.ready clients/typescript/node_modules/.ready ## As fix, for TypeScript alone (needs Node)
	npm --prefix site run fix
	npm --prefix clients/typescript run fix

mutations: $(READY) ## Put deliberate faults into a copy of the code and check that the suites find each
	$(BIN)/python -m tools.mutations

coverage: $(READY) ## Check that tests take every branch of access, authentication and payment
	$(IN_MEMORY) $(BIN)/python -m tools.mutations.branches

mutate: coverage ## Generate faults in access, authentication and payment, and check that the tests find them (SAMPLE=40 or all, FILE=part of a path)
	$(IN_MEMORY) $(BIN)/python -m tools.mutations.mutants --sample $(or $(SAMPLE),$(if $(LONG),all,40)) --seed $(or $(SEED),0) --file "$(FILE)"

show-bug: $(READY) ## Show a past bug: its test fails before the fix and passes after it (BUG=commit of the fix)
	$(IN_MEMORY) $(BIN)/python -m tools.show_bug $(BUG)

bench: $(READY) ## Measure the service beside its floors (with Node: and beside viem); QUICK=1 for less
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory bench/peer/node_modules/.ready; fi
	$(BIN)/python -m bench.run $(if $(QUICK),--quick)
	@if command -v "$${CHROMIUM:-chromium}" > /dev/null; then $(MAKE) --no-print-directory bench-paint; \
		else echo "Chromium is not here, so the largest paint is not measured."; fi

bench-paint: $(READY) .venv/browser ## Measure how soon a browser paints the pages (Debian; at most 0.5 s for a post)
	tools/install-browser
	$(BIN)/python -m bench.paint

bench-recovery: $(READY) ## Time a backup, its restoration and a rebuild of the index (POSTS=1000000; takes an hour)
	$(BIN)/python -m bench.recovery --posts $(or $(POSTS),1000000)

bench-compare: $(READY) ## Compare the speed with that of another checkout or commit, in turns (OTHER=path or commit)
	$(BIN)/python -m bench.compare $(OTHER)

soak: $(READY) ## Use a service at half load with faults, and check that nothing grows (HOURS=2 DATABASE=postgresql)
	$(BIN)/python -m bench.soak --hours $(or $(HOURS),2) --database $(or $(DATABASE),sqlite)

scale: $(READY) ## Estimate what a large deployment needs, from the last measurements
	$(BIN)/python -m bench.scale

simulate: $(READY) ## Run random histories against a model (SEEDS=300, WORKERS=2); SEED=7 replays one
ifdef SEED
	SEED=$(SEED) $(BIN)/pytest -q tests/simulation -k state_of_the_chain
else
	SEEDS=$(or $(SEEDS),300) WORKERS=$(or $(WORKERS),2) $(BIN)/python -W ignore -m tests.simulation
	$(BIN)/pytest -q tests/simulation -k replayed
endif

check-site: site/node_modules/.ready clients/typescript/node_modules/.ready ## Lint, types and tests of the pages' scripts, whether their build is committed, and the TypeScript client
	npm --prefix site run check
	npm --prefix site test
	npm --prefix clients/typescript run check

site: site/node_modules/.ready clients/typescript/node_modules/.ready ## Build the scripts and styles of the pages into the package (needs Node)
	npm --prefix site run build

test-clients: $(READY) tests/clients/node_modules/.ready tests/clients/.venv/ready examples/viem/node_modules/.ready clients/typescript/dist/.ready ## Run the clients of Python and JavaScript against the service (needs Node)
	node --test clients/typescript/dist/
	$(BIN)/pytest -q tests/client tests/clients

test-chain: $(READY) tests/anvil/node_modules/.ready contracts/node_modules/.ready ## Compile the contract and run against a real node (needs Node)
	npm --prefix contracts run check
	$(BIN)/pytest -q -n 2 --dist worksteal tests/anvil

test-kubo: $(READY) ## Run the content store against a real IPFS node (needs Go; builds it once)
	tools/build-kubo
	$(BIN)/pytest -q -n 2 --dist worksteal tests/kubo

test-pinata: $(READY) tests/pinata_sdk/node_modules/.ready ## Run Pinata's own client against our double of it (needs Node)
	$(BIN)/pytest -q tests/pinata_sdk

test-differences: $(READY) .venv/browser tests/differences/node_modules/.ready tests/browser/node_modules/.ready ## Compare our code with other implementations (PEER=viem CASES=100000 SEED=1; needs Node, Go and a browser)
	tools/build-kubo
	tools/install-browser
	CASES=$(CASES) SEED=$(SEED) $(BIN)/pytest -q $(if $(CASES),--timeout 0) tests/differences$(if $(PEER),/test_$(subst -,_,$(PEER)).py)

test-crash: $(READY) ## End the service at every step and moment, fill its disk, trace its calls (KILLS=50)
	@tools/install-strace
	KILLS=$(or $(KILLS),50) $(BIN)/pytest -q -rs tests/crash

test-hostile: $(READY) ## Attack the service while an honest client uses it; ATTACK=name for one attack
	$(if $(ATTACK),,$(BIN)/pytest -q -n 2 --dist worksteal tests/hostile/test_archives.py tests/hostile/test_watchdog.py)
	$(BIN)/pytest -q tests/hostile/test_attacks.py $(if $(ATTACK),-k "$(ATTACK)")

test-faults: $(READY) ## Make mistakes, move clocks, restart, damage files (FAULT=name for one, LONG=1 for all)
	@tools/install-faketime
	LONG=$(LONG) $(BIN)/pytest -q -rs -n 2 --dist worksteal tests/faults $(if $(FAULT),-k "$(FAULT)")

test-histories: $(READY) ## Check the responses of two failing replicas against a model (OPERATIONS=5000 KILLS=40; SEED=7, RECORD=1)
	@tools/install-faketime
	tools/build-kubo
	tools/build-minio
	$(IN_MEMORY) OPERATIONS=$(OPERATIONS) KILLS=$(KILLS) SEED=$(SEED) RECORD=$(RECORD) $(BIN)/pytest -q -rs tests/histories

test-s3: $(READY) ## Run the content store against a real object store, healthy and failing (needs Go; builds it once)
	tools/build-minio
	$(BIN)/pytest -q -n 2 --dist worksteal tests/s3

test-wheel: $(READY) ## Install the built package, and run its commands (WHEEL_PYTHON=python3.13 for another Python)
	WHEEL_PYTHON=$(WHEEL_PYTHON) $(BIN)/pytest -q -rs -n 2 --dist loadfile tests/wheel

test-deploy: $(READY) ## Try the files of deploy/: image, compose, units, manifests, alerts (Debian, as root)
	tools/install-deploy-tools
	$(BIN)/pytest -q -rs tests/deploy --ignore-glob '*/test_proxies*.py'

test-proxies: $(READY) tests/clients/node_modules/.ready clients/typescript/dist/.ready ## Use the service through nginx, Caddy and HAProxy (Debian, as root; needs Node)
	tools/install-deploy-tools
	$(BIN)/pytest -q -rs tests/deploy/test_proxies*.py

test-generators: $(READY) tests/generators/node_modules/.ready tests/generators/.venv/ready ## Generate clients from the description and use them (needs Node)
	$(BIN)/pytest -q tests/generators

test-browser: $(READY) .venv/browser tests/browser/node_modules/.ready ## Use the pages in a real browser (Debian; needs Node)
	tools/install-browser
	@# What failed beside another browser is tried once more alone: what fails twice is broken.
	$(BIN)/pytest -q -rs -n 2 --dist worksteal tests/browser || \
		$(BIN)/pytest -q -rs --last-failed --last-failed-no-failures none tests/browser

test-everything: $(READY) ## Run every suite in full, and say what ran, for how long and what was skipped (SUITE=test-crash)
	$(BIN)/python -m tools.suites everything $(if $(SUITE),--suite $(SUITE))

trust: $(READY) tools/audit/.venv/ready ## Run every suite and every long command, and write the results into docs/trust.md (takes hours)
	@# The short runs of the first command save results, too, which the others replace.
	RECORD=1 $(MAKE) --no-print-directory test-everything
	RECORD=1 $(MAKE) --no-print-directory simulate SEEDS=10000
	RECORD=1 $(MAKE) --no-print-directory test-histories OPERATIONS=100000 KILLS=1000
	RECORD=1 $(MAKE) --no-print-directory fuzz-parsers MINUTES=60
	RECORD=1 $(MAKE) --no-print-directory test-differences CASES=100000
	RECORD=1 $(MAKE) --no-print-directory mutate SAMPLE=all
	@# Status 2 means that some data could not be had, which the page then says.
	RECORD=1 $(BIN)/python -m tools.audit || test $$? = 2
	RECORD=1 $(MAKE) --no-print-directory soak HOURS=2 DATABASE=sqlite
	RECORD=1 $(MAKE) --no-print-directory soak HOURS=2 DATABASE=postgresql
	$(BIN)/python -m tools.write_tables

# What suites that run side by side must not install at the same time.
suites-ready: $(READY) .venv/browser tests/clients/.venv/ready tests/generators/.venv/ready tests/parsers/.venv/ready clients/typescript/dist/.ready \
		$(patsubst %/package-lock.json,%/node_modules/.ready,$(wildcard site/package-lock.json contracts/package-lock.json examples/*/package-lock.json tests/*/package-lock.json))
	tools/install-strace
	tools/install-browser
	tools/install-faketime
	tools/install-deploy-tools
	tools/build-kubo
	tools/build-minio

screenshots: $(READY) .venv/browser ## Take a picture of every page into docs/pictures (Debian)
	tools/install-browser
	$(BIN)/python -m tests.browser.screenshots

.venv/browser: tests/browser/requirements.lock | $(READY)
	@flags="--quiet --require-hashes --no-deps --only-binary :all: -r tests/browser/requirements.lock"; \
		UV_HTTP_RETRIES=1 $(BIN)/uv pip install --python $(BIN)/python $$flags || \
		$(BIN)/python -m pip install --disable-pip-version-check $$flags
	@touch $@

lock-browser: $(READY) ## Resolve the driver of the browser anew and write tests/browser/requirements.lock
	$(BIN)/uv pip compile tests/browser/requirements.in --quiet --upgrade --universal --python-version 3.11 \
		--only-binary :all: --generate-hashes --no-emit-index-url --no-annotate \
		--custom-compile-command "make lock-browser" --output-file tests/browser/requirements.lock

# Environments of their own: what these tools depend on must not decide what the service runs with.
%/.venv/ready: %/requirements.lock | $(READY)
	$(BIN)/python -m venv --clear $*/.venv
	@flags="--quiet --require-hashes --no-deps --only-binary :all: -r $<"; \
		UV_HTTP_RETRIES=1 $(BIN)/uv pip install --python $*/.venv/bin/python $$flags || \
		$*/.venv/bin/python -m pip install --disable-pip-version-check $$flags
	@touch $@

lock-clients: $(READY) ## Resolve the Python client of x402 anew and write tests/clients/requirements.lock
	$(BIN)/uv pip compile pyproject.toml tests/clients/requirements.in --quiet --upgrade --universal --python-version 3.11 \
		--only-binary :all: --generate-hashes --no-emit-index-url --no-annotate \
		--custom-compile-command "make lock-clients" --output-file tests/clients/requirements.lock

lock-generators: $(READY) ## Resolve the Python generators anew and write tests/generators/requirements.lock
	$(BIN)/uv pip compile tests/generators/requirements.in --quiet --upgrade --universal --python-version 3.11 \
		--only-binary :all: --generate-hashes --no-emit-index-url --no-annotate \
		--custom-compile-command "make lock-generators" --output-file tests/generators/requirements.lock

lock-audit: $(READY) ## Resolve pip-audit anew and write tools/audit/requirements.lock
	$(BIN)/uv pip compile tools/audit/requirements.in --quiet --upgrade --universal --python-version 3.11 \
		--only-binary :all: --generate-hashes --no-emit-index-url --no-annotate \
		--custom-compile-command "make lock-audit" --output-file tools/audit/requirements.lock

lock-parsers: $(READY) ## Lock the fuzzer beside the locked dependencies and write tests/parsers/requirements.lock
	$(BIN)/uv pip compile pyproject.toml tests/parsers/requirements.in --quiet --constraint requirements.lock --universal \
		--python-version 3.11 --only-binary :all: --generate-hashes --no-emit-index-url --no-annotate \
		--custom-compile-command "make lock-parsers" --output-file tests/parsers/requirements.lock

clients/typescript/dist/.ready: clients/typescript/node_modules/.ready clients/typescript/tsconfig.json $(wildcard clients/typescript/src/*.ts clients/typescript/src/*/*.ts)
	npm --prefix clients/typescript run build
	@touch $@

%/node_modules/.ready: %/package-lock.json
	npm ci --prefix $* --no-audit --no-fund --loglevel=error
	@touch $@

audit: $(READY) tools/audit/.venv/ready ## Check licences, age and known vulnerabilities of all locked packages (needs Node and the registries)
	$(BIN)/python -m tools.audit

release: $(READY) ## Build a release into dist/ and check it: wheel, sdist, SBOM, image, provenance, checksums (PUSH=registry/name)
	$(BIN)/python -m tools.release $(if $(PUSH),--push $(PUSH))

verify-release: $(READY) ## Check the files of a release against its provenance, and build it again (DIST=folder)
	$(BIN)/python -m tools.provenance $(or $(DIST),dist)

lock: $(READY) ## Resolve the dependencies anew and write requirements.lock
	$(BIN)/uv pip compile pyproject.toml --quiet --upgrade --universal --python-version 3.11 \
		--extra deploy --extra dev --extra otel --extra postgresql --extra s3 --group test --group build --only-binary :all: \
		--generate-hashes --no-emit-index-url --no-annotate \
		--custom-compile-command "make lock" --output-file requirements.lock
	@# The parts for the image are found by what is installed, so that comes first.
	$(MAKE) --no-print-directory $(READY)
	$(BIN)/python -m tools.runtime_lock

clean: ## Remove everything that the other targets made
	rm -rf .venv .hypothesis .mypy_cache .pytest_cache .ruff_cache .schemathesis .tools build dist
	rm -rf tests/*/.venv tools/*/.venv
	rm -rf bench/peer/node_modules bench/results clients/*/dist clients/*/node_modules contracts/node_modules examples/*/node_modules site/node_modules tests/*/node_modules
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST)))
.SECONDARY:
