#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")"
../../scripts/example-packages.sh vercel-ai
exec node agent.mjs
