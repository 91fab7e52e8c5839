#!/usr/bin/env bash
# Does what README.md says, block by block, and looks at what came of it.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export SKILLBOX_SERVER_URL=$SKILLBOX_URL
# A checkout has it in node_modules; here it is the same program, whatever npx would find.
npx() { shift; node "$root/packages/box/bin/skillbox.js" "$@"; }
export -f npx
export root

awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' README.md >"$folder/tutorial.sh"
(cd "$folder" && bash -euo pipefail tutorial.sh) | tee "$folder/said"

grep -q 'total  *21.62' "$folder/out/invoice.txt"
grep -q 'refused with exit code 2' "$folder/said"
grep -q '1\.1\.0' "$folder/said"
grep -q '"total": \?11' "$folder/said"
