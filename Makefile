# Drydock's commands. `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help demo test check bench soak generate clean
SHELL := /bin/bash

modules := node_modules/.drydock-installed

help: ## show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{ printf "  make %-10s %s\n", $$1, $$2 }'

# The machine is checked in words before anything is downloaded.
$(modules): package-lock.json package.json
	@scripts/machine.sh
	@echo "installing npm packages…"
	@npm ci --no-fund --no-audit --loglevel=error
	@touch $@

demo: $(modules) ## boot images, the way back, clouds, the watch and the rollback trap, on a real API server and a vCenter simulator
	@npm run --silent demo

test: $(modules) ## run all tests (the first run builds the sandbox's servers: several minutes)
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
