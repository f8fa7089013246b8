#!/usr/bin/env bash
# Without a GPU and with a network: everything that the calls carry. See README.md beside this file.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

usage() {
  cat <<'TEXT'
usage: bench/first_contact/prepare.sh [--python PYTHON] [--archs "90"] [--peer] [--work DIR] FOLDER

  --python PYTHON  a Python of the version that the machine there has (default: python3.12)
  --archs "A B"    compute capabilities of the devices there (default: 90)
  --most MB        of a call (default: 60); a piece of the peer is 15 less, for a checkout that travels beside it
  --peer           MuJoCo Warp besides, in pieces
  --work DIR       environment and build folder, kept between runs (default: build/first_contact)
  FOLDER           FOLDER/carry is made anew, and FOLDER/peer-0, peer-1, ... with --peer
TEXT
}
python=python3.12 archs=90 most=60 peer='' work=$root/build/first_contact folder=''
while [ $# -gt 0 ]; do
  case $1 in
    --python | --archs | --most | --work)
      [ $# -gt 1 ] || { echo "prepare.sh: $1 wants a value" >&2; exit 2; }
      printf -v "${1#--}" %s "$2"
      shift
      ;;
    --peer) peer=yes ;;
    -h | --help) usage && exit 0 ;;
    -*) echo "prepare.sh: $1 is given, and is no option; --help lists them" >&2 && exit 2 ;;
    *) folder=$1 ;;
  esac
  shift
done
[ -n "$folder" ] || { usage >&2; exit 2; }
command -v "$python" >/dev/null || { echo "prepare.sh: $python is not here" >&2; exit 1; }
carry=$folder/carry
mkdir -p "$folder" "$work"
folder=$(cd "$folder" && pwd) carry=$folder/carry work=$(cd "$work" && pwd)
rm -rf "$carry"
mkdir -p "$carry"/{src,whl,cache,models}
say() { printf '== %4d s: %s\n' $SECONDS "$*"; }

say "sources of the commit, and its name"
git -C "$root" archive HEAD | tar -x -C "$carry/src"
commit=$(git -C "$root" rev-parse --short=12 HEAD)
[ -z "$(git -C "$root" status --porcelain --untracked-files=no)" ] ||
  say "files differ from the commit: what is carried is the commit"
echo "$commit" >"$carry/src/COMMIT"

say "an environment of $python"
[ -x "$work/venv/bin/python" ] || "$python" -m venv "$work/venv"
own=$work/venv/bin/python
pip() { "$own" -m pip --disable-pip-version-check "$@" -q; }
pip install "scikit-build-core>=0.10" "pybind11>=2.11" ninja "cmake>=3.24" "nvidia-cuda-nvrtc==13.0.*" numpy
tag=$("$own" -c 'import sys; print(f"{sys.version_info[0]}.{sys.version_info[1]}")')

say "packages that the machine lacks"
platforms=()
for version in 2_28 2_27 2_17; do platforms+=(--platform "manylinux_${version}_x86_64"); done
fetch() {  # a folder, then packages
  local into=$1
  shift
  pip download --no-deps --only-binary=:all: --python-version "$tag" --implementation cp "${platforms[@]}" \
    --platform manylinux2014_x86_64 -d "$into" "$@"
}
fetch "$carry/whl" "mujoco-core>=4.0" "gymnasium>=1.1,<2" farama-notifications cloudpickle typing-extensions

say "the wheel: kernels of 8 lanes for all models, every other number of lanes is specialised"
# without emulated lanes, which need a library of Boost's that the machine there may not have
# each commit builds in the same place, where a checkout writes what differs alone: the rest is not compiled again
[ -d "$work/src/.git" ] || { rm -rf "$work/src" && git clone -q --no-checkout "$root" "$work/src"; }
git -C "$work/src" fetch -q "$root" HEAD && git -C "$work/src" checkout -q --force --detach "$commit"
(cd "$work/src" && PATH=$work/venv/bin:$PATH SKBUILD_BUILD_DIR=$work/wheel \
  CMAKE_ARGS="-DDUALSTEP_CUDA=ON -DDUALSTEP_CUDA_ARCHS=${archs// /;} -DDUALSTEP_CUDA_LANES=8 -DDUALSTEP_CUDA_FLOAT64=OFF -DDUALSTEP_EMULATOR=OFF" \
  "$own" -m pip wheel -q --disable-pip-version-check . --no-deps --no-build-isolation -w "$carry/whl")
pip install --force-reinstall --no-deps "$carry"/whl/*.whl

say "models that need a package to be made"
mjlab=$work/mjlab
[ -d "$mjlab" ] || "$own" -m pip install -q --disable-pip-version-check --no-deps --target "$mjlab" "mjlab>=1.6,<2" ||
  say "mjlab is not to be had: Go1 and G1 are left out"
PYTHONPATH=$mjlab "$own" "$here/save_models.py" "$carry/models" || say "Go1 and G1 are left out"

say "machine code under the keys that the device looks up"
MODELS_FOLDER=$carry/models DUALSTEP_CACHE_DIR=$carry/cache \
  "$own" "$carry/src/bench/first_contact/fill_cache.py" --archs "$(printf 'sm_%s\n' $archs | paste -sd,)"

size=$(du -sm "$carry" | cut -f1)
du -sh "$carry" "$carry"/*
[ "$size" -le $most ] || { echo "prepare.sh: $carry has $size MB, and a call carries $most" >&2; exit 1; }

if [ -n "$peer" ]; then
  say "MuJoCo Warp, in pieces"
  rm -rf "$work/peer-wheels" "$work/peer" "$folder"/peer-*
  fetch "$work/peer-wheels" mujoco-warp warp-lang
  pip install --no-deps --no-compile --target "$work/peer" "$work"/peer-wheels/*.whl
  # what a GPU needs: its compiler for CPUs is a quarter of it
  rm -rf "$work"/peer/warp/{examples,bin/warp-clang.so} "$work/peer/mujoco_warp/test_data"
  rm -f "$work"/piece-*
  tar -C "$work/peer" -c . | xz -T0 -7 | split -b $((most - 15))M -d - "$work/piece-"
  pieces=0
  for piece in "$work"/piece-*; do
    mkdir -p "$folder/peer-$pieces"
    mv "$piece" "$folder/peer-$pieces/"
    pieces=$((pieces + 1))
  done
  echo $pieces >"$carry/peer-pieces"
  du -sh "$folder"/peer-*
fi
say "done: $commit"
