#!/usr/bin/env bash
# Starts the box, runs a first skill through it, and says where everything is. Harmless to run again.
set -euo pipefail
cd "$(dirname "$0")/.."
skillbox=(node packages/box/bin/skillbox.js)

"${skillbox[@]}" up
for skill in examples/skills/*/; do "${skillbox[@]}" skill push "$skill" >/dev/null; done
echo
echo "\$ npx skillbox run data-analysis --input '{\"data\":[1,2,3,4,5]}'"
"${skillbox[@]}" run data-analysis --input '{"data":[1,2,3,4,5]}'
echo
echo 'The dashboard, signed in; the link works once. Another: npx skillbox open'
"${skillbox[@]}" open
