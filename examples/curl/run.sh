#!/usr/bin/env bash
# The API with nothing but curl and jq, step by step. Read it from top to bottom; each step checks itself.
set -euo pipefail
cd "$(dirname "$0")"
: "${SKILLBOX_URL:=http://localhost:8080}" "${SKILLBOX_API_KEY:?the key of a box}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
api() { curl --silent --show-error --fail-with-body -H "Authorization: Bearer $SKILLBOX_API_KEY" "$@"; }
step() { printf '\n# %s\n' "$*"; }

step 'Is the box there? This needs no key.'
curl -s "$SKILLBOX_URL/health" | jq -e '.status == "ok" or .status == "degraded"'

step 'Add a skill: a zip with SKILL.md in it. The same content again changes nothing.'
(cd ../skills/data-analysis && zip -q -X -r "$folder/skill.zip" . -x '*__pycache__*')
api "$SKILLBOX_URL/v1/skills" -H 'Content-Type: application/zip' --data-binary "@$folder/skill.zip" | jq '{name, version, lang, created}'

step 'What skills are there, and what does this one want?'
api "$SKILLBOX_URL/v1/skills" | jq -r '.items[] | "\(.name) \(.version): \(.description)"'
api "$SKILLBOX_URL/v1/skills/data-analysis/latest" | jq '.input_schema.properties | keys'

step 'Run it: structured in, structured out.'
api "$SKILLBOX_URL/v1/executions" -H 'Content-Type: application/json' \
  -d '{"skill": "data-analysis", "input": {"data": [{"name": "Alice", "age": 30}, {"name": "Bob", "age": 25}]}}' >"$folder/execution.json"
jq '{status, output, files: [.files_list[].path]}' "$folder/execution.json"
jq -e '.status == "success" and .output.row_count == 2' "$folder/execution.json" >/dev/null
id=$(jq -r .execution_id "$folder/execution.json")

step 'Its log, and its artifacts: one by one with the key, or all of them with the link, which needs none for an hour.'
api "$SKILLBOX_URL/v1/executions/$id/logs"
api "$SKILLBOX_URL/v1/executions/$id/files/chart.svg" -o "$folder/chart.svg"
grep -q '<svg' "$folder/chart.svg"
curl -sf "$(jq -r .files_url "$folder/execution.json")" | tar -tzv

step 'Do not wait: 202 at once, then follow it. With the Idempotency-Key the same request is accepted once, however often it is sent.'
start() {
  api "$SKILLBOX_URL/v1/executions" -H 'Content-Type: application/json' -H "Idempotency-Key: $1" \
    -d '{"skill": "data-analysis", "input": {"data": [1, 2, 3]}, "wait": false}' | jq -r .execution_id
}
key="curl-$(date +%s)-$$"
first=$(start "$key")
[ "$(start "$key")" = "$first" ]
api -N "$SKILLBOX_URL/v1/executions/$first/events" | tee "$folder/events"
grep -q '"text":"success"' "$folder/events"

step 'What goes wrong has a code, a hint and the id of the request.'
curl -s -H "Authorization: Bearer $SKILLBOX_API_KEY" "$SKILLBOX_URL/v1/skills/no-such-skill/latest" | tee "$folder/error.json" | jq .
jq -e '.error == "skill_not_found" and .hint and .request_id' "$folder/error.json" >/dev/null

step 'A sandbox that lives: run a program in it, write and read a file, end it.'
sandbox=$(api "$SKILLBOX_URL/v1/sandboxes" -H 'Content-Type: application/json' -d '{"template": "base", "ttl": "10m"}' | jq -r .id)
api -X PUT "$SKILLBOX_URL/v1/sandboxes/$sandbox/files?path=hello.txt" --data-binary 'hello from outside' | jq '{path, size}'
api "$SKILLBOX_URL/v1/sandboxes/$sandbox/programs" -H 'Content-Type: application/json' -d '{"cmd": "tr a-z A-Z < hello.txt"}' | jq -e '.stdout == "HELLO FROM OUTSIDE"'
api -X DELETE "$SKILLBOX_URL/v1/sandboxes/$sandbox" | jq -e '.state == "destroyed"'
