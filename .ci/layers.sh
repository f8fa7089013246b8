# shellcheck shell=bash
# The layers of the tests, for `./test LAYER [pattern]`, which sources this after setup.sh: what a layer needs of the
# build with the preset `dev`, and its tests in C++ and Python.

# layer|targets of the build|its C++ tests in ctest, by how their names begin
LAYERS='reference|_core mjcf_test|mjcf
kernels|_core kernels_test|kernels
recipes|_core row_kind_recipe recipe_contact_law toy_state_test|recipes
emulator|_core emulator|emulator
batch|_core host_test fixed_tables_garden fixed_tables_box|host
envs|_core|
cli|_core _formulations|
formulations|_core _formulations|
cuda|_core ptx_interpreter|ptx_interpreter
package|_core _formulations|
format||'

layer_names() { cut -d '|' -f 1 <<<"$LAYERS" | paste -sd ' '; }

usage() {
  cat <<EOF
usage: ./test                     everything, from nothing: set-up, builds, all suites, and how each closed
       ./test LAYER [PATTERN]     one layer on the build with the preset dev, which is brought up to date

layers: $(layer_names)
  A layer builds what it needs, and runs its tests in C++ (ctest) and in Python (tests/python/LAYER). "package" is what
  the package keeps as a whole (imports, stubs, the README's examples); "format" runs ruff, pyright and clang-format.
  PATTERN chooses tests whose name holds it, in C++ and in Python (pytest -k): ./test kernels bias. What is set up
  already is not set up again.

environment: JOBS=1 builds and tests with one process at a time; PYTHON is the Python that .venv is made with;
TEST_SECONDS=4500 leaves out the suites of what a GPU's compilers make that would end later than that.
EOF
}

# how a requirement list of pyproject.toml reads, a line each: the package's own, then those of the extras named
requirements() {
  "$python" - "$@" <<'EOF'
import sys
from pip._vendor import tomli
project = tomli.loads(open("pyproject.toml").read())["project"]
extras = sys.argv[1:]
print(*([] if extras in (["lint"], ["docs"]) else project["dependencies"]), sep="\n")
print(*(line for extra in extras for line in project["optional-dependencies"][extra]), sep="\n")
EOF
}

# the Python of a layer, in `python`: .venv's, or the one of the active environment where that has all that is needed
layer_python() {
  local needed='import mujoco, numpy, pybind11, pytest, gymnasium, scipy, hypothesis'
  PATH=$PWD/.venv/bin:$PATH
  for python in .venv/bin/python "$(command -v python3 || true)"; do
    if "$python" -c "$needed" 2>/dev/null && command -v cmake >/dev/null && command -v ninja >/dev/null; then return; fi
  done
  system_packages "$BUILD_NEEDS
$TEST_NEEDS"
  python_environment
  python=.venv/bin/python
  say "installing what the tests need into .venv"
  requirements bench test | "$python" -m pip install --quiet --disable-pip-version-check -r /dev/stdin
}

# builds these targets with the preset dev; those that this machine cannot build, for want of a library, are left out
layer_build() {  # targets
  export CMAKE_BUILD_PARALLEL_LEVEL=$JOBS
  cmake --preset dev -DPython_EXECUTABLE="$(command -v "$python")" >build/logs/configure.log 2>&1 ||
    { cat build/logs/configure.log >&2; fail "The build cannot be configured."; }
  local known
  known=$(ninja -C build/dev -t targets all 2>/dev/null | sed -n 's/: .*//p')
  local chosen=() target
  for target in "$@"; do
    case $target in
      # a folder of tests has several programs
      emulator | ptx_interpreter)
        while read -r target; do chosen+=("$target"); done < <(grep -E "^tests/$target/all$" <<<"$known") ;;
      *) ! grep -qx "$target" <<<"$known" || chosen+=("$target") ;;
    esac
  done
  cmake --build --preset dev --target "${chosen[@]}"
}

# 0: passed, 1: failed, 2: no test of this layer has such a name
layer_cpp() {  # prefix, pattern
  local log=build/logs/layer-cpp.log status=0
  ctest --test-dir build/dev --output-on-failure --no-tests=ignore --parallel "$JOBS" -R "^$1\..*$2" >"$log" 2>&1 ||
    status=1
  if [ $status = 0 ] && ! grep -q 'tests passed' "$log"; then return 2; fi
  if [ $status = 0 ]; then tail -n 3 "$log"; else cat "$log"; fi
  return $status
}
layer_python_tests() {  # layer, pattern
  local status=0 options=(-q -p no:cacheprovider --durations=5)
  case $1 in
    # programs in C++ alone
    recipes) return 2 ;;
    cuda) options+=(-m cuda tests/python) ;;
    # one answer on emulated lanes, whatever their number and order
    emulator) options+=("$(find tests/python -name test_one_answer.py)") ;;
    *) options+=("tests/python/$1") ;;
  esac
  if [ -n "$2" ]; then
    options+=(-k "$2")
  elif "$python" -c 'import xdist' 2>/dev/null; then
    options+=(-n "$JOBS" --dist worksteal)
  fi
  PYTHONPATH=bindings/python${PYTHONPATH:+:$PYTHONPATH} "$python" -m pytest "${options[@]}" || status=$?
  # 5: none of that name
  if [ $status = 5 ]; then return 2; fi
  return $status
}

run_layer() {  # layer, pattern
  local layer=$1 pattern=${2:-} line targets prefix began=$SECONDS
  line=$(grep -E "^$layer\|" <<<"$LAYERS") ||
    { usage >&2; fail "There is no layer '$layer'; the layers are $(layer_names)."; }
  IFS='|' read -r _ targets prefix <<<"$line"
  mkdir -p build/logs
  layer_python
  if [ "$layer" = format ]; then
    format_tools || fail "ruff, pyright and clang-format cannot be installed."
    format_and_types
    return
  fi
  # shellcheck disable=SC2086  # targets are words
  layer_build $targets
  local built=$((SECONDS - began)) cpp=2 tests=2
  if [ -n "$prefix" ]; then
    cpp=0
    layer_cpp "$prefix" "$pattern" || cpp=$?
  fi
  tests=0
  layer_python_tests "$layer" "$pattern" || tests=$?
  say "layer $layer: built in $built s, tested in $((SECONDS - began - built)) s"
  [ "$cpp" != 2 ] || [ "$tests" != 2 ] || fail "No test of the layer $layer has a name with '$pattern'."
  if [ "$cpp" = 1 ] || { [ "$tests" != 0 ] && [ "$tests" != 2 ]; }; then fail "Tests of the layer $layer failed."; fi
}

# --- format and types -------------------------------------------------------------------------------------------

# what clang-format applies to: tables of macros (.inl) are laid out by hand
formatted_files() { find kernels host bindings tests envs/cpp \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) | sort; }

# what checks them, at the versions of pyproject.toml
format_tools() {
  { "$python" -c 'import ruff, pyright' && clang-format --version | grep -q ' 14\.'; } 2>/dev/null ||
    requirements lint | "$python" -m pip install --quiet --disable-pip-version-check -r /dev/stdin
}

format_and_types() {
  local status=0
  # dualstep.envs has its own folder: a link shows it where Python looks for it
  [ -e bindings/python/dualstep/envs ] || ln -s "$PWD/envs" bindings/python/dualstep/envs
  "$python" -m ruff check --quiet . || status=1
  "$python" -m pyright --pythonpath "$(command -v "$python")" || status=1
  formatted_files | xargs clang-format --dry-run -Werror || status=1
  if [ $status = 0 ]; then echo "format and types: ruff, pyright and clang-format find nothing"; fi
  return $status
}
