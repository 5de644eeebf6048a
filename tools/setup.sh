#!/bin/sh
# Installs what is missing on this machine, or names the command that does, then makes the virtual environment .venv.
#
# Plain POSIX shell, because on a bare machine there may be no Python yet.
set -eu
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*"; }
has() { command -v "$1" >/dev/null 2>&1; }

# A Python that is new enough and has venv, pip and the headers that extension modules need.
usable_python() {
  has "$1" && "$1" - <<'PYTHON' 2>/dev/null
import ensurepip, os, sys, sysconfig, venv
sys.exit(sys.version_info < (3, 11) or not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))
PYTHON
}

find_python() {
  for python in ${PYTHON:-python3.11 python3.12 python3.13 python3}; do
    if usable_python "$python"; then
      echo "$python"
      return
    fi
  done
}

# One Debian package a line for everything that is not there.
missing_packages() {
  [ -n "$(find_python)" ] || printf '%s\n' python3 python3-venv python3-dev
  # CMake takes $CXX where it is set; whoever sets it knows what it is.
  if [ -z "${CXX:-}" ]; then
    has g++ && [ "$(g++ -dumpversion | cut -d. -f1)" -ge 12 ] || echo g++
  fi
  has make || echo make
  has git || echo git
  has ccache || echo ccache
  has doxygen || echo doxygen
  has dot || echo graphviz
  if has apt-get && [ ! -e /etc/ssl/certs/ca-certificates.crt ]; then echo ca-certificates; fi
}

# The tests of the guide's own scripts want a browser, and skip where there is none.
has_browser() {
  for browser in "${BROWSER_FOR_TESTS:-chromium}" chromium chromium-browser google-chrome google-chrome-stable chrome; do
    has "$browser" && return
  done
  return 1
}

# As root, or through sudo where it asks for no password; without Debian's dialogues.
apt() {
  if [ "$(id -u)" = 0 ]; then
    env DEBIAN_FRONTEND=noninteractive apt-get -qq -y "$@"
  else
    sudo -n env DEBIAN_FRONTEND=noninteractive apt-get -qq -y "$@"
  fi
}

may_install() {
  has apt-get && { [ "$(id -u)" = 0 ] || { has sudo && sudo -n true 2>/dev/null; }; }
}

missing=$(echo $(missing_packages))
if [ -n "$missing" ] && may_install; then
  say "installing Debian packages: $missing"
  # Package lists may be absent or out of date: they are fetched only if it doesn't work without.
  # shellcheck disable=SC2086
  apt install --no-install-recommends $missing >/dev/null 2>&1 || {
    apt update
    apt install --no-install-recommends $missing
  }
  missing=$(echo $(missing_packages))
fi
if [ -n "$missing" ]; then
  say "this machine lacks (by Debian's package names): $missing"
  say "Python must be 3.11 or newer, g++ 12 or newer. On Debian or Ubuntu:"
  printf '\n    sudo apt-get update && sudo apt-get install %s\n\n' "$missing"
  say "then run make again. PYTHON=... and CXX=... choose among several versions."
  exit 1
fi

if ! has_browser; then
  may_install && say "installing Chromium, for the tests of the guide's scripts" &&
    apt install --no-install-recommends chromium >/dev/null 2>&1 ||
    say "no Chromium here, and none could be installed: the tests of the guide's scripts will skip"
fi

python=$(find_python)
say "$("$python" --version) ($(command -v "$python")), g++ ${CXX:-$(g++ -dumpfullversion)}"
exec "$python" tools/environment.py
