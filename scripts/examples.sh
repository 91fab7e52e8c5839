#!/usr/bin/env bash
# Runs the examples, one line each: scripts/examples.sh [NAME…]. Against the box of SKILLBOX_URL and SKILLBOX_API_KEY, or one that is started for it.
set -uo pipefail
cd "$(dirname "$0")/.."
skillbox=(node packages/box/bin/skillbox.js)
folder=$(mktemp -d)
ours=

finish() {
  [ -z "$ours" ] || SKILLBOX_STATE_ROOT=$folder/state "${skillbox[@]}" down >/dev/null 2>&1
  rm -rf "$folder"
}
trap finish EXIT

if [ -z "${SKILLBOX_URL:-}" ]; then
  port=$(node -e 'const server = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(server.address().port); server.close(); })')
  ours=1
  SKILLBOX_STATE_ROOT=$folder/state SKILLBOX_API_PORT=$port "${skillbox[@]}" up >"$folder/up.log" 2>&1 || { cat "$folder/up.log" >&2; exit 1; }
  export SKILLBOX_URL=http://127.0.0.1:$port SKILLBOX_API_KEY
  SKILLBOX_API_KEY=$(cat "$folder/state/admin.key")
fi

names=("$@")
if [ $# = 0 ]; then for script in examples/*/run.sh; do names+=("$(basename "$(dirname "$script")")"); done; fi
failed=0
for name in "${names[@]}"; do
  begun=$(date +%s%N)
  timeout "${EXAMPLE_TIMEOUT:-120}" "examples/$name/run.sh" >"$folder/log" 2>&1 </dev/null
  code=$?
  took=$(printf '%d ms' $((($(date +%s%N) - begun) / 1000000)))
  case $code in
    0) echo "✓ $name ($took)" ;;
    77) echo "- $name was skipped: $(tail -n 1 "$folder/log")" ;;
    *)
      echo "✗ $name ($took) ended with exit code $code:"
      sed 's/^/    /' "$folder/log"
      failed=1
      ;;
  esac
done
exit $failed
