#!/usr/bin/env bash
# The npm packages of one example, pinned by its package.json, into its folder, and beside them the SDK of this checkout. 77: they could not be fetched.
set -euo pipefail
cd "$(dirname "$0")/../examples/$1"
if ! cmp -s package.json node_modules/.installed; then
  npm install --no-audit --no-fund --no-package-lock --loglevel=error >&2 || { echo 'npm could not fetch what package.json lists.' >&2; exit 77; }
  cp package.json node_modules/.installed
fi
sdk=node_modules/@skillbox/sdk
rm -rf $sdk
mkdir -p $sdk
cp -r ../../packages/sdk/{package.json,dist,langchain} $sdk
