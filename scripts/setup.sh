#!/usr/bin/env bash
# Installs what is missing: system packages with apt, npm packages, and the build. Harmless to run again.
#   scripts/setup.sh          what the box needs
#   scripts/setup.sh test     and what its tests need
#   scripts/setup.sh bench    and what it is measured beside
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\033[2m· %s\033[0m\n' "$*" >&2; }
die() { printf '%s\n' "$*" >&2; exit 1; }

command -v node >/dev/null || die 'Node.js is missing. Install Node.js 20.19 or newer, then run this again.'
node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' ||
  die "Node.js $(node --version) is too old: 20.19 or newer is needed."

packages=()
need() { [ -e "$1" ] || command -v "$1" >/dev/null 2>&1 || packages+=("${@:2}"); }
need bwrap bubblewrap
need musl-gcc musl-tools
need cc gcc libc6-dev
need g++ g++
need make make
need /usr/bin/python3 python3
# Skills bring requirements.txt and package-lock.json.
/usr/bin/python3 -I -m pip --version >/dev/null 2>&1 || packages+=(python3-pip)
need npm npm
need newuidmap uidmap
need unzip unzip
if [ "${1:-}" = test ]; then
  ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || packages+=(postgresql)
  need curl curl
  need jq jq
  need zip zip
  [ -e /usr/local/go/bin/go ] || need go golang-go
  need openssl openssl
  [ -e /usr/sbin/dockerd ] || need dockerd docker.io iptables
  need docker-compose docker-compose
  need git git
  need chromium chromium
  ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || packages+=(libfaketime)
  need /usr/sbin/sshd openssh-server openssh-client
fi
if [ "${1:-}" = bench ]; then
  ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || packages+=(postgresql)
  [ -e /usr/sbin/dockerd ] || need dockerd docker.io iptables
  # sandbox-runtime needs them.
  need socat socat
  need rg ripgrep
fi
if [ ${#packages[@]} -gt 0 ]; then
  install="apt-get install -y --no-install-recommends ${packages[*]}"
  command -v apt-get >/dev/null || die "These packages are missing, and this machine has no apt: ${packages[*]}"
  if [ "$(id -u)" = 0 ]; then as_root=(env DEBIAN_FRONTEND=noninteractive)
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as_root=(sudo env DEBIAN_FRONTEND=noninteractive)
  else die "Some packages are missing. Run this line, then try again:
  sudo apt-get update && sudo $install"
  fi
  say "installing ${packages[*]}"
  log=$(mktemp)
  { "${as_root[@]}" apt-get update && "${as_root[@]}" $install; } >"$log" 2>&1 || { cat "$log" >&2; die "apt could not install: ${packages[*]}"; }
  rm -f "$log"
fi

stamp=node_modules/.installed
if [ ! -f "$stamp" ] || ! cmp -s package-lock.json "$stamp"; then
  say 'installing npm packages (the first time takes a minute or two: SQLite may have to be compiled)'
  # Not npm ci: it refuses where a registry lacks packages for other platforms. The lock file stays as it is.
  # What has to be compiled takes the headers that came with this node, where there are some: no download, no network needed.
  node_home=$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")
  if [ -z "${npm_config_nodedir:-}" ] && [ -f "$node_home/include/node/node.h" ]; then export npm_config_nodedir=$node_home; fi
  lock=$(mktemp)
  cp package-lock.json "$lock"
  npm install --no-audit --no-fund --loglevel=error >&2
  cp "$lock" package-lock.json
  mv "$lock" "$stamp"
fi
# Agents that tests run against the box: large, and nothing else needs them.
if [ "${1:-}" = test ] && ! cmp -s tests/agents/package.json tests/agents/node_modules/.installed; then
  say 'installing the agents that tests run (240 MB)'
  (cd tests/agents && npm install --no-audit --no-fund --no-package-lock --loglevel=error >&2 && cp package.json node_modules/.installed)
fi
# Apart from what the product and its tests depend on.
if [ "${1:-}" = bench ] && ! cmp -s bench/peers/package.json bench/peers/node_modules/.installed; then
  say 'installing what the benchmark compares with'
  (cd bench/peers && npm install --no-audit --no-fund --no-package-lock --loglevel=error >&2 && cp package.json node_modules/.installed)
fi
say 'building'
node packages/box/scripts/build.mjs
node packages/sdk/scripts/build.mjs
node packages/web/scripts/build.mjs
