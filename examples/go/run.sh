#!/usr/bin/env bash
# 77 says that Go is missing.
set -euo pipefail
cd "$(dirname "$0")"
PATH=$PATH:/usr/local/go/bin
command -v go >/dev/null || { echo 'Go is missing: apt-get install golang-go' >&2; exit 77; }
GOPROXY=off GOFLAGS=-mod=mod GOTOOLCHAIN=local GOWORK=off exec go run .
