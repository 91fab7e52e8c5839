#!/usr/bin/env bash
# Counts words with nothing but bash, awk and sort.
set -euo pipefail

# Bytes, not characters: the same result with every awk and in every locale.
export LC_ALL=C

here=${BASH_SOURCE[0]%/*}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

read_input() {
  if [[ -n ${SANDBOX_INPUT+set} ]]; then
    printf '%s' "$SANDBOX_INPUT"
  else
    cat input.json
  fi
}

# decode.awk says on stderr what is wrong with the input, and that is all the reader needs.
read_input | awk -v top_file="$work/top" -f "$here/decode.awk" > "$work/text" || exit 1
top=$(cat "$work/top")

awk -f "$here/count.awk" "$work/text" |
  sort -t "$(printf '\t')" -k1,1nr -k2,2 |
  awk -F '\t' -v top="$top" '
    { total += $1; if (NR <= top) list = list (NR > 1 ? "," : "") "{\"word\":\"" $2 "\",\"count\":" $1 "}" }
    END { printf "{\"total_words\":%d,\"unique_words\":%d,\"top\":[%s]}\n", total, NR, list }
  ' > "$work/output.json"

cp "$work/output.json" "${SANDBOX_OUTPUT:-out/output.json}"
echo "Counted the words."
