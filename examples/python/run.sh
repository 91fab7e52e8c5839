#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")"
PYTHONPATH=../../sdks/python PYTHONDONTWRITEBYTECODE=1 exec "${PYTHON:-/usr/bin/python3}" agent.py
