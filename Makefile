# Two commands do everything: make up, make test.
MAKEFLAGS += --no-print-directory
bin := node_modules/.bin

.PHONY: up down setup build test check fix docs examples agents bench bench-quick load soak screenshots mutate-boundary clean

up: setup ## Install, build, start the box, run a first skill
	@scripts/up.sh

down: ## Stop the box
	@test ! -f packages/box/dist/cli.js || node packages/box/bin/skillbox.js down

test: ## Install what the tests need and run all of them
	@scripts/setup.sh test
	@$(bin)/vitest run

check: setup ## Lint, types, boundaries, generated files, dead code
	@$(bin)/biome check --error-on-warnings .
	@$(bin)/tsc --noEmit -p .
	@$(bin)/tsc --noEmit -p packages/web
	@$(bin)/depcruise packages --config .dependency-cruiser.cjs
	@$(bin)/knip --include files,dependencies,unlisted,unresolved
	@node scripts/run-ts.mjs scripts/generate-docs.ts --check

agents: setup ## Install Codex and OpenCode for this (800 MB), and let each find and call a skill of a box over MCP
	@cmp -s tests/agents/others/package.json tests/agents/others/node_modules/.installed || \
		(cd tests/agents/others && npm install --no-audit --no-fund --no-package-lock --loglevel=error && cp package.json node_modules/.installed)
	@node scripts/run-ts.mjs tests/e2e/other-agents.ts

bench: ## Measure beside plain processes, bubblewrap, Docker and others; writes docs/benchmarks.md. PART="latency growth" for some of it
	@scripts/setup.sh bench
	@node scripts/run-ts.mjs bench/bench.ts $(PART)

bench-quick: ## The main ratios in under two minutes, as JSON on the last line
	@scripts/setup.sh bench
	@node scripts/run-ts.mjs bench/quick.ts

soak: setup ## Faults of every kind under load, for MINUTES (10), from SEED: make soak MINUTES=60
	@scripts/setup.sh test
	@node scripts/run-ts.mjs tests/chaos/soak.ts

screenshots: setup ## Take the pictures of the dashboard in docs/screenshots anew
	@scripts/setup.sh test
	@node scripts/run-ts.mjs scripts/screenshots.ts

load: setup ## The load tests in their long form: a minute of ten times too much (SKILLBOX_SEED=N repeats a run)
	@SKILLBOX_LONG=1 $(bin)/vitest run --project alone tests/load

mutate-boundary: setup ## Take each layer of the sandbox away in turn; its test must fail
	@scripts/setup.sh test
	@node scripts/run-ts.mjs scripts/mutate-boundary.ts

setup:
	@scripts/setup.sh

build:
	@node packages/box/scripts/build.mjs
	@node packages/sdk/scripts/build.mjs
	@node packages/web/scripts/build.mjs

fix: ## Format and mend what can be mended
	@$(bin)/biome check --write .

docs: ## Write the generated pages anew
	@node scripts/run-ts.mjs scripts/generate-docs.ts

examples: setup ## Start a box and run every example against it, one line each: make examples NAME="curl python" for some
	@scripts/examples.sh $(NAME)

clean:
	@rm -rf packages/*/dist node_modules
