#!/usr/bin/env bash
set -euo pipefail
mkdir -p "$(dirname "$COUNT_FILE")"
printf '{"count": 0}' >"$COUNT_FILE.new"
mv "$COUNT_FILE.new" "$COUNT_FILE"
echo 'the count begins at 0'
