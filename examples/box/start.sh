#!/usr/bin/env bash
# From a clone to a focused client: installs and builds what is missing, makes what the box starts from, and runs skillbox focus demo.
set -euo pipefail
cd "$(dirname "$0")"
# A box of its own, whatever else this shell speaks to.
unset SKILLBOX_URL SKILLBOX_SERVER_URL SKILLBOX_API_KEY
[ -e ../../packages/box/dist/cli.js ] || ../../scripts/setup.sh

# What would come from elsewhere in a real box: a repository to clone, and a secret. Beside the state, which the box trusts nobody to write.
if [ -z "${DEMO_ORIGIN:-}" ]; then
  DEMO_ORIGIN=$PWD/.origin
  grep -qs '^DEMO_ORIGIN=' .env || echo "DEMO_ORIGIN=$DEMO_ORIGIN" >>.env
fi
export DEMO_ORIGIN
origin=$DEMO_ORIGIN
if [ ! -d "$origin" ]; then
  mkdir -p "$(dirname "$origin")"
  rm -rf "$origin.new"
  git init --quiet --initial-branch main "$origin.new/notes"
  echo '# Notes of the demo client' >"$origin.new/notes/README.md"
  git -C "$origin.new/notes" add README.md
  git -C "$origin.new/notes" -c user.name=demo -c user.email=demo@localhost commit --quiet --message 'Begin the notes'
  (umask 077 && echo "STORE_TOKEN=$(head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n')" >"$origin.new/store.env")
  mv "$origin.new" "$origin"
fi

exec node ../../packages/box/bin/skillbox.js focus demo "$@"
