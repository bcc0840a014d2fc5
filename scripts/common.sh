# shellcheck shell=bash disable=SC2034
# Functions of scripts/run and scripts/test. Sourced by them, not run.
# Everything is said on standard error; standard output belongs to the program.

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$project/build

packages_run=(g++ cmake ninja-build ccache git libboost-program-options-dev libfmt-dev
  libspdlog-dev nlohmann-json3-dev libssl-dev)
packages_test=(libgtest-dev libgmock-dev libvalijson-dev clang python3 scdoc)
packages_bench=(libbenchmark-dev libns3-dev libsystemc-dev)

say() { echo "$(basename "$0"): $*" >&2; }
fail() {
  say "$@"
  exit 1
}

# Installs those of the given Debian packages that are missing. With none missing it says nothing.
install_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "not a Debian system: install what these Debian packages contain, if it is missing: $*"
    return
  fi
  local missing=() package
  local -A installed=()
  while read -r package; do
    installed[$package]=1
  done < <(dpkg-query -W -f='${db:Status-Abbrev} ${Package}\n' "$@" 2>/dev/null |
    sed -n 's/^ii *//p')
  for package in "$@"; do
    [[ ${installed[$package]:-} ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0

  local as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      fail "missing Debian packages, and neither root nor sudo to install them: ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  local log
  log=$(mktemp)
  # Package lists may be old or absent. If they cannot be had, the installation says what is missing.
  "${as_root[@]}" apt-get -qq update </dev/null >"$log" 2>&1 || true
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
    --no-install-recommends install "${missing[@]}" </dev/null >>"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    fail "apt-get could not install: ${missing[*]}"
  fi
  rm -f "$log"
}

# configure CMAKE-OPTION...: makes the build directory, or changes the options of the present one.
configure() {
  say "configuring $build"
  local log
  log=$(mktemp)
  if ! cmake -S "$project" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "$@" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    fail "configuring failed"
  fi
  rm -f "$log"
}

# compile TARGET...: shows ninja's progress while there is no program yet, later only what goes wrong.
compile() {
  local options=()
  if [[ -x $build/idlesim ]]; then
    options=(--quiet)
  else
    say "building; this takes some minutes the first time"
  fi
  ninja -C "$build" "${options[@]}" "$@" >&2 || fail "building failed"
}
