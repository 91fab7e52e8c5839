#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")"
packages=$(./install.sh)
PYTHONPATH=../../sdks/python:$packages PYTHONDONTWRITEBYTECODE=1 LANGSMITH_TRACING=false exec "${PYTHON:-/usr/bin/python3}" agent.py
