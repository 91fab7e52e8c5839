#!/usr/bin/env bash
# LangChain comes from the Python index, pinned, into a folder that is kept; prints the folder. 77 says that it could not be fetched.
set -euo pipefail
cd "$(dirname "$0")"
packages=$(cd ../.. && pwd)/node_modules/.cache/langchain-python-$(sha256sum requirements.txt | cut -c1-12)
if [ ! -e "$packages/.whole" ]; then
  mkdir -p "$packages"
  exec 9>"$packages/.lock"
  flock 9
fi
if [ ! -e "$packages/.whole" ]; then
  "${PYTHON:-/usr/bin/python3}" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --root-user-action=ignore --upgrade \
    --target "$packages" -r requirements.txt >&2 || { echo 'The Python index does not give what requirements.txt lists.' >&2; exit 77; }
  touch "$packages/.whole"
fi
echo "$packages"
