# The commands of the project. What they run is in package.json, on the Node.js that npm ci brings.
.DEFAULT_GOAL := help
.PHONY: help install run test check format generate kube bench clean

help: ## Show this help
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: node_modules ## Install the dependencies, pinned by the lockfile

node_modules: package.json package-lock.json
	npm ci
	@touch node_modules

run: node_modules ## Run the gateway; pass options as ARGS="-f weir.yaml"
	npm run -s weir -- run $(ARGS)

test: node_modules ## Check types and style, run all tests
	npm test

check: node_modules ## Check types and style only
	npm run -s check

format: node_modules ## Format the sources and sort their imports
	npm run -s format

generate: node_modules ## Write the CRDs and the reference anew from the schemas
	npm run -s generate

kube: ## Build the Kubernetes programs that tests use, from source (needs Go; some 10 minutes the first time)
	test/cluster/build.sh

bench: node_modules ## Measure the gateway
	npm run -s bench

clean: ## Remove what is installed or generated outside the repository
	rm -rf node_modules coverage .cache
