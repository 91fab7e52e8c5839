#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")"
../../scripts/example-packages.sh langchain-js
# The types of what the SDK has for LangChain, beside LangChain's own.
node ../../node_modules/typescript/bin/tsc --ignoreConfig --noEmit --strict --skipLibCheck --module nodenext --target es2022 --types node --typeRoots ../../node_modules/@types \
  --allowJs --checkJs agent.mjs
LANGSMITH_TRACING=false exec node agent.mjs
