#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")"
exec node ../../scripts/run-ts.mjs agent.ts
