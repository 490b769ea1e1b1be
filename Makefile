# Drydock's commands. `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help servers demo test check bench soak generate clean
SHELL := /bin/bash

modules := node_modules/.drydock-installed

# `make servers test` builds the real servers and uses them, as SERVERS=real does.
ifneq (,$(filter servers,$(MAKECMDGOALS)))
export SERVERS := real
endif

help: ## show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{ printf "  make %-10s %s\n", $$1, $$2 }'

# npm ci runs scripts/machine.sh first, which names what the machine lacks.
$(modules): package-lock.json package.json
	@command -v npm >/dev/null || { echo "drydock: npm is missing. Install Node.js (any version with npm 10 or newer); the repository brings its own Node 26." >&2; exit 1; }
	@echo "installing npm packages…"
	@npm ci --no-fund --no-audit --loglevel=error --foreground-scripts
	@touch $@

servers: $(modules) ## build the real API server, etcd and vCenter simulator once (Go, several minutes); with demo or test: use them
	@npm run --silent servers

demo: $(modules) ## boot images, rollback, clouds, the watch and the CRD trap in two minutes (SERVERS=real: on the real servers)
	@npm run --silent demo

test: $(modules) ## run all tests (SERVERS=real: on the real servers)
	@npm run --silent test

check: $(modules) ## types, format, lint, dead code, import boundaries
	@npm run --silent check

bench: $(modules) ## run the benchmarks against their peers (NAME=import for one)
	@npm run --silent bench -- $(NAME)

soak: $(modules) ## models, power cuts, kills and mutations with many more seeds (MINUTES=60 for as many as fit, PART=templates for some)
	@MINUTES=$(MINUTES) PART="$(PART)" npm run --silent soak

generate: $(modules) ## regenerate the types in api/ from the CRDs
	@npm run --silent generate

clean: ## remove what was installed and built
	rm -rf node_modules dist .cache packages/*/.cache apps/*/.cache packages/*/node_modules apps/*/node_modules bench/.cache
