#!/usr/bin/env bash
# The script was written for E2B's cloud: only its environment says that a box answers.
set -euo pipefail
cd "$(dirname "$0")"
export E2B_API_URL=$SKILLBOX_URL/e2b E2B_SANDBOX_URL=$SKILLBOX_URL/e2b E2B_API_KEY=$SKILLBOX_API_KEY E2B_PREVIEW_URL=$SKILLBOX_URL/preview
said=$(node script.mjs)
echo "$said"
for line in 'python says 42' 'tick 3' 'fetched: served from inside' 'after the pause: written before' 'killed: true'; do
  grep -qF "$line" <<<"$said" || { echo "missing: $line" >&2; exit 1; }
done
