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

bench-compare: $(READY) ## Compare the speed with that of another checkout, in turns (OTHER=path)
	$(BIN)/python -m bench.compare $(OTHER)

soak: $(READY) ## Read a service at a steady rate and check that its memory stays flat (MINUTES=120 RATE=150)
	$(BIN)/python -m bench.soak --minutes $(or $(MINUTES),120) --rate $(or $(RATE),150) --plot soak.png

scale: $(READY) ## Estimate what a large deployment needs, from the last measurements
	$(BIN)/python -m bench.scale

simulate: $(READY) ## Run random histories against a model (SEEDS=25); SEED=7 replays one
	SEEDS=$(or $(SEEDS),25) SEED=$(SEED) $(BIN)/pytest -q -n $(if $(SEED),0,2) --dist worksteal tests/simulation

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

test-crash: $(READY) ## End the service at every step and moment, fill its disk, trace its calls (KILLS=50)
	@tools/install-strace
	KILLS=$(or $(KILLS),50) $(BIN)/pytest -q -rs tests/crash

test-hostile: $(READY) ## Attack the service while an honest client uses it; ATTACK=name for one attack
	$(if $(ATTACK),,$(BIN)/pytest -q -n 2 --dist worksteal tests/hostile/test_archives.py tests/hostile/test_watchdog.py)
	$(BIN)/pytest -q tests/hostile/test_attacks.py $(if $(ATTACK),-k "$(ATTACK)")

test-faults: $(READY) ## Make mistakes, move clocks, restart, damage files (FAULT=name for one, LONG=1 for all)
	@tools/install-faketime
	LONG=$(LONG) $(BIN)/pytest -q -rs -n 2 --dist worksteal tests/faults $(if $(FAULT),-k "$(FAULT)")

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

test-everything: $(READY) ## Run every suite in full, and say what ran, for how long and what was skipped
	$(BIN)/python -m tools.suites everything

# What suites that run side by side must not install at the same time.
suites-ready: $(READY) .venv/browser tests/clients/.venv/ready tests/generators/.venv/ready clients/typescript/dist/.ready \
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

# Environments of their own: what generators and other clients depend on must not decide what the service runs with.
tests/%/.venv/ready: tests/%/requirements.lock | $(READY)
	$(BIN)/python -m venv --clear tests/$*/.venv
	@flags="--quiet --require-hashes --no-deps --only-binary :all: -r tests/$*/requirements.lock"; \
		UV_HTTP_RETRIES=1 $(BIN)/uv pip install --python tests/$*/.venv/bin/python $$flags || \
		tests/$*/.venv/bin/python -m pip install --disable-pip-version-check $$flags
	@touch $@

lock-clients: $(READY) ## Resolve the Python client of x402 anew and write tests/clients/requirements.lock
	$(BIN)/uv pip compile pyproject.toml tests/clients/requirements.in --quiet --upgrade --universal --python-version 3.11 \
		--only-binary :all: --generate-hashes --no-emit-index-url --no-annotate \
		--custom-compile-command "make lock-clients" --output-file tests/clients/requirements.lock

lock-generators: $(READY) ## Resolve the Python generators anew and write tests/generators/requirements.lock
	$(BIN)/uv pip compile tests/generators/requirements.in --quiet --upgrade --universal --python-version 3.11 \
		--only-binary :all: --generate-hashes --no-emit-index-url --no-annotate \
		--custom-compile-command "make lock-generators" --output-file tests/generators/requirements.lock

clients/typescript/dist/.ready: clients/typescript/node_modules/.ready clients/typescript/tsconfig.json $(wildcard clients/typescript/src/*.ts clients/typescript/src/*/*.ts)
	npm --prefix clients/typescript run build
	@touch $@

%/node_modules/.ready: %/package-lock.json
	npm ci --prefix $* --no-audit --no-fund --loglevel=error
	@touch $@

release: $(READY) ## Build a release into dist/ and check it: wheel, sdist, SBOM, image, checksums (PUSH=registry/name)
	$(BIN)/python -m tools.release $(if $(PUSH),--push $(PUSH))

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
	rm -rf tests/clients/.venv tests/generators/.venv
	rm -rf bench/peer/node_modules bench/results clients/*/dist clients/*/node_modules contracts/node_modules examples/*/node_modules site/node_modules tests/*/node_modules
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help run site check-site fix-site test fuzz simulate check fix mutations show-bug bench bench-paint bench-compare soak scale test-clients test-chain test-crash test-faults test-hostile test-kubo test-pinata test-s3 test-wheel test-deploy test-proxies test-generators test-browser test-everything suites-ready screenshots release lock lock-clients lock-generators lock-browser clean
.SECONDARY:
