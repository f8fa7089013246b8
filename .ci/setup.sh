# shellcheck shell=bash disable=SC2034,SC2046,SC2086  # variables for those who source this; lists of words
# Set-up for the two commands, ./run and ./test, which source this file: what a fresh machine lacks is installed
# where that is allowed, and otherwise named, all of it at once. Everything else goes into .venv and build/.

say() { printf '\n== %s\n' "$*" >&2; }
fail() { printf '\n%s\n' "$*" >&2; exit 1; }

# --- what the system must have: a name, how to see whether it is there, the package that brings it --------------

python_found() {
  # the system's python3 first: its headers and venv module are packages of their own
  local candidate
  for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
    command -v "${candidate:-none}" >/dev/null || continue
    "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || continue
    PYTHON=$candidate
    return 0
  done
  return 1
}
venv_found() { python_found && "$PYTHON" -c 'import venv, ensurepip' 2>/dev/null; }
headers_found() {
  python_found && "$PYTHON" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))' 2>/dev/null
}
compiles() {  # source, then options
  local source=$1
  shift
  printf '%s\n' "$source" | "${CXX:-c++}" -std=c++20 -x c++ - -o /dev/null "$@" >/dev/null 2>&1
}
includes() { printf -- '-I%s\n' /usr/include/eigen3 /usr/local/include/eigen3 "${CONDA_PREFIX:-/usr}/include/eigen3" \
  "${CONDA_PREFIX:-/usr}/include"; }
compiler_found() { compiles $'#include <bit>\n#include <concepts>\n#include <span>\nint main() { return std::popcount(0u); }'; }
eigen_found() { compiles $'#include <Eigen/Dense>\nint main() {}' $(includes); }
gtest_found() { compiles $'#include <gtest/gtest.h>\nint main() {}' -lgtest -lpthread; }
context_found() {
  compiles $'#include <boost/context/detail/fcontext.hpp>\nint main() { return boost::context::detail::jump_fcontext == nullptr; }' \
    -lboost_context
}
sanitizers_found() { compiles 'int main() {}' -fsanitize=thread && compiles 'int main() {}' -fsanitize=address,undefined; }
library_found() { ldconfig -p 2>/dev/null | grep -q "$1" || /sbin/ldconfig -p 2>/dev/null | grep -q "$1"; }
# Mesa's software renderer behind EGL, or OSMesa: either draws without a display
renderer_found() {
  { library_found libEGL.so.1 && library_found libOpenGL.so.0 && { library_found libEGL_mesa.so.0 || library_found libEGL_nvidia.so.0; }; } ||
    library_found libOSMesa.so
}
display_found() { command -v Xvfb >/dev/null; }
browser_found() { command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; }

# probe|what it is|packages of Debian and Ubuntu
BUILD_NEEDS='python_found|Python 3.10 or newer|python3
venv_found|the venv module of Python|python3-venv
headers_found|the headers of Python|python3-dev
compiler_found|a C++20 compiler|g++
eigen_found|Eigen 3.3 or newer|libeigen3-dev'
TEST_NEEDS='gtest_found|GoogleTest|libgtest-dev
context_found|Boost.Context|libboost-context-dev
sanitizers_found|the thread, address and undefined-behaviour sanitizers of the compiler|g++'
# without these everything still works: the picture is then drawn with sticks
WISHES='renderer_found|an off-screen OpenGL|libegl1 libopengl0 libegl-mesa0 libgl1-mesa-dri'
# without them the page of the viewer, and MuJoCo's window, are not tested
TEST_WISHES='browser_found|a Chromium|chromium
display_found|a display in memory (Xvfb)|xvfb libgl1'

lacking() {  # needs, column: what the machine lacks of them, a line each
  local probe what packages
  while IFS='|' read -r probe what packages; do
    "$probe" || case $2 in what) printf '  %s (%s)\n' "$what" "$packages" ;; *) printf '%s\n' "$packages" ;; esac
  done <<<"$1"
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif [ -n "${CI:-}" ] || [ ! -t 0 ]; then sudo -n "$@"; else sudo "$@"; fi
}
may_install() {
  command -v apt-get >/dev/null || return 1
  [ "$(id -u)" = 0 ] && return 0
  command -v sudo >/dev/null || return 1
  # with a person at the terminal sudo may ask; otherwise it must work unasked
  { [ -z "${CI:-}" ] && [ -t 0 ]; } || sudo -n true 2>/dev/null
}

# installs what of the needs and wishes is missing; ends the script where a need stays missing
system_packages() {
  local needs=$1 wishes=${2:-} packages
  packages=$({ lacking "$needs" packages; [ -z "$wishes" ] || lacking "$wishes" packages; } | tr ' ' '\n' | sort -u)
  if [ -n "$packages" ] && may_install; then
    say "installing with apt-get:" $packages
    # a list that cannot be fetched matters only if a package then cannot be found
    as_root apt-get update -qq </dev/null >&2 || true
    local required
    required=$(lacking "$needs" packages | tr ' ' '\n' | sort -u)
    [ -z "$required" ] ||
      as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $required </dev/null >&2 ||
      true
    local wish
    for wish in $([ -z "$wishes" ] || lacking "$wishes" packages); do
      as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$wish" </dev/null >&2 ||
        say "$wish is not to be had here; going on without it"
    done
  fi
  local missing
  missing=$(lacking "$needs" what)
  [ -z "$missing" ] || fail "This machine lacks:
$missing
In brackets: the packages of Debian and Ubuntu that bring it. As root:
  apt-get update && apt-get install -y $(lacking "$needs" packages | tr ' ' '\n' | sort -u | tr '\n' ' ')"
  # here, and not in a subshell: it says which Python
  python_found
}

# --- the virtual environment -------------------------------------------------------------------------------------

# pip compiles every module of every package one after the other, if it is not told otherwise: Python compiles those that
# it imports, when it does; and keeps them, or every process of a test would compile all of torch again
export PIP_COMPILE=0
unset PYTHONDONTWRITEBYTECODE

# .venv, with the tools of the build
python_environment() {
  if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    say "making .venv with $("$PYTHON" --version)"
    rm -rf .venv
    "$PYTHON" -m venv .venv
  fi
  local tools=("scikit-build-core>=0.10" "pybind11>=2.11" "ninja")
  local have
  have=$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*\([0-9]*\)\.\([0-9]*\).*/\1 \2/p') || have=
  { [ -n "$have" ] && newer_than_3_23 $have; } || tools+=("cmake>=3.24")
  say "installing the build's Python packages into .venv"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check "${tools[@]}"
  PATH=$PWD/.venv/bin:$PATH
}
newer_than_3_23() { [ "$1" -gt 3 ] || { [ "$1" -eq 3 ] && [ "$2" -ge 24 ]; }; }

# builds the package in build/$1 and installs it into .venv with the extras $2, or without all that it needs where they
# are "-"; the rest goes to CMake
install_package() {
  local folder=build/$1 package=".[$2]"
  [ "$2" != - ] || package="--no-deps ."
  shift 2
  say "building in $folder, installing into .venv (the first time takes minutes)"
  mkdir -p "$folder"
  # pip tells everything or nothing: of everything, the lines that say how far the build is are shown
  SKBUILD_BUILD_DIR=$folder CMAKE_ARGS="$*" CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(nproc)} \
    .venv/bin/python -m pip install --verbose --disable-pip-version-check --no-build-isolation $package 2>&1 |
    tee "$folder.log" | sed -un 's/^ *\(\[[0-9]*\/[0-9]*\] .\{0,90\}\).*/  \1/p' >&2 ||
    { tail -n 60 "$folder.log" >&2; fail "The build failed; all that it said is in $folder.log."; }
}
