#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")"
../../scripts/example-packages.sh openai
exec node agent.mjs
