# Sourced by tools/quickstart and tools/test: packages, configuration, build.
#
# Part of te-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

readonly PACKAGES=(
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools
  g++ cmake ninja-build ccache
  libboost-context-dev libgtest-dev libzstd-dev zlib1g-dev
  python3 python3-numpy
)

step() { printf '==> %s\n' "$*"; }
die() {
  printf '%s: error: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

missing_packages() {
  local package
  for package in "${PACKAGES[@]}"; do
    [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" == \
      installed ]] || printf '%s\n' "$package"
  done
}

# Installs what is missing of PACKAGES. Does nothing where nothing is.
install_packages() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    step "no apt-get here: MLIR 22.1, Boost.Context, GoogleTest, numpy," \
      "cmake and ninja have to be there already (-DMLIR_DIR, -DLLVM_DIR)"
    return
  fi
  local missing sudo=()
  mapfile -t missing < <(missing_packages)
  [[ ${#missing[@]} -gt 0 ]] || return 0
  if [[ $EUID -ne 0 ]]; then
    command -v sudo >/dev/null ||
      die "install these packages as root first: ${missing[*]}"
    sudo=(sudo)
  fi
  step "installing ${missing[*]}"
  local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q)
  "${apt[@]}" update </dev/null
  "${apt[@]}" install -y --no-install-recommends "${missing[@]}" </dev/null ||
    die "apt-get could not install ${missing[*]}; LLVM 22 comes from Debian" \
      "12's security repository (bookworm-security)"
}

# configure_and_build BUILD_DIR JOBS [ninja targets]: configures once, builds.
configure_and_build() {
  local build=$1 jobs=$2
  shift 2
  if [[ ! -f $build/build.ninja ]]; then
    step "configuring $build"
    cmake -G Ninja -S . -B "$build" ||
      die "the configuration of $build failed; see above"
  fi
  step "building in $build${*:+: $*}"
  ninja -C "$build" -j "$jobs" "$@" || die "the build failed; see above"
}

# The interpreter that the configuration chose, one with numpy.
python_of_build() {
  sed -n 's/^Python3_EXECUTABLE:[A-Z]*=//p;s/^_Python3_EXECUTABLE:[A-Z]*=//p' \
    "$1/CMakeCache.txt" | head -n 1
}
