#!/usr/bin/env bash
# start.sh with a state and ports of its own; looks at what came of it, and takes it down again.
set -euo pipefail
cd "$(dirname "$0")"
folder=$(mktemp -d)
free_port() { node -e 'const server = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(server.address().port); server.close(); })'; }
unset SKILLBOX_URL SKILLBOX_SERVER_URL SKILLBOX_API_KEY
export SKILLBOX_STATE_ROOT=$folder/state DEMO_ORIGIN=$folder/origin SKILLBOX_API_PORT=0 SKILLBOX_STORE_PORT SKILLBOX_WEB_PORT
SKILLBOX_STORE_PORT=$(free_port)
SKILLBOX_WEB_PORT=$(free_port)
skillbox() { node ../../packages/box/bin/skillbox.js "$@"; }
finish() {
  skillbox down >"$folder/down.log" 2>&1 || cat "$folder/down.log" >&2
  rm -rf "$folder"
}
trap finish EXIT

./start.sh
skillbox status --client demo
grep -q 'Client demo' "$SKILLBOX_STATE_ROOT/home/.claude/CLAUDE.md"
[ -e "$SKILLBOX_STATE_ROOT/home/.codex/AGENTS.md" ]
[ -e "$SKILLBOX_STATE_ROOT/home/.claude/skills/tell-the-count/SKILL.md" ]
[ -e "$SKILLBOX_STATE_ROOT/workspace/repos/notes/README.md" ]
for _ in 1 2 3 4 5 6 7 8 9 10; do
  count=$(node -e 'fetch(process.argv[1]).then((r) => r.json()).then(({ count }) => console.log(count))' "http://127.0.0.1:$SKILLBOX_WEB_PORT/")
  [ "$count" -lt 2 ] || break
  sleep 1
done
echo "counted to $count"
[ "$count" -ge 2 ]
# Again: nothing to do, and it says so.
skillbox focus --resume
