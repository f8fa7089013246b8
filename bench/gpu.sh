#!/usr/bin/env bash
# Everything that a machine with an NVIDIA GPU is asked for, in one command: builds for that GPU, measures a first
# figure, runs the tests that need it, compares bits with the committed golden hashes, measures beside MuJoCo Warp and
# MJX where these are installed, and writes bench/results/<device>-<date>-<commit>.json and .md, again after each point.
# Each part is a process of its own: an error that a device keeps ends one part. See bench/README.md, "On a GPU".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
usage: bench/gpu.sh [--cpu] [--quick] [--python PYTHON] [--peers] [--out DIR] [-- ARGUMENTS]

  --cpu            rehearse on the CPU, with small batches: the whole path, and no figure of a GPU
  --quick          fewer models, batch sizes and tests
  --python PYTHON  use this Python, which has dualstep, pytest and gymnasium already: nothing is built or installed
  --peers          install MuJoCo Warp, and MJX with JAX for CUDA 13, into .venv
  --out DIR        where results go (default: bench/results)
  --no-tests       measure only; the receipt says so
  --budget SECONDS of tests and measurements together, after the build: parts that no time is left for are named
  -- ARGUMENTS     go to python -m dualstep.measure.gpu (see its --help): -- --models humanoid --sizes 8192
TEXT
}

cpu='' quick='' python='' peers='' tests=yes out=bench/results budget=86400
while [ $# -gt 0 ]; do
  case $1 in
    --cpu) cpu=yes ;;
    --quick) quick=yes ;;
    --peers) peers=yes ;;
    --no-tests) tests='' ;;
    --python | --out | --budget)
      [ $# -gt 1 ] || { echo "bench/gpu.sh: $1 wants a value" >&2; exit 2; }
      case $1 in
        --python) python=$2 ;;
        --out) out=$2 ;;
        --budget) budget=$2 ;;
      esac
      shift
      ;;
    --) shift && break ;;
    -h | --help) usage && exit 0 ;;
    *) echo "bench/gpu.sh: $1 is given, and is no option; --help lists them" >&2 && exit 2 ;;
  esac
  shift
done

[[ $budget =~ ^[1-9][0-9]*$ ]] || { echo "bench/gpu.sh: --budget $budget is given, and wants seconds" >&2; exit 2; }

# before anything is built: is there what it is built for?
if [ -z "$cpu" ]; then
  found=$(nvidia-smi --query-gpu=name,compute_cap --format=csv,noheader 2>/dev/null | head -n 1) || found=
  if [ -z "$found" ]; then
    echo "bench/gpu.sh: no NVIDIA GPU here (nvidia-smi lists none). Nothing was built. --cpu rehearses without one." >&2
    exit 1
  fi
  capability=$(sed 's/.*, *//; s/\.//' <<<"$found")
  echo "== $found" >&2
fi

if [ -z "$python" ]; then
  # shellcheck source=../.ci/setup.sh
  . .ci/setup.sh
  if [ -z "$cpu" ]; then
    command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
    command -v nvcc >/dev/null ||
      fail "nvcc, CUDA's compiler, is not on PATH: 12.1 or newer is wanted"
    options="-DDUALSTEP_CUDA=ON -DDUALSTEP_CUDA_ARCHS=$capability"
  else
    options=-DDUALSTEP_CUDA=OFF
  fi
  system_packages "$BUILD_NEEDS"
  python_environment
  # shellcheck disable=SC2086  # options are words
  install_package gpu bench,test $options
  pip=(.venv/bin/python -m pip install --quiet --disable-pip-version-check)
  [ -n "$cpu" ] || "${pip[@]}" "nvidia-cuda-nvrtc==13.*" ||
    say "no NVRTC is to be had here: no kernel is specialised"
  "${pip[@]}" --no-deps "mjlab>=1.6,<2" || say "mjlab is not to be had here: G1 is left out"
  if [ -n "$peers" ]; then
    "${pip[@]}" mujoco-warp || say "mujoco-warp is not to be had here"
    "${pip[@]}" mujoco-mjx "jax[cuda13]" || say "MJX is not to be had here"
  fi
  python=.venv/bin/python
fi

device=cuda
# the order in which nvidia-smi counts is then CUDA's too
export CUDA_DEVICE_ORDER=PCI_BUS_ID
measured=(--out "$out")
models=humanoid,three_humanoids,g1,ant,half_cheetah
if [ -n "$cpu" ]; then
  device=cpu
  measured+=(--sizes 8,32 --seconds 0.1 --samples 8)
fi
if [ -n "$quick" ]; then
  models=humanoid,ant
  measured+=(--sizes "$([ -n "$cpu" ] && echo 8 || echo 8192)" --seconds 1)
fi
# what the caller says of models is taken apart, for each is a process
given=()
while [ $# -gt 0 ]; do
  case $1 in
    --models) models=$2 && shift ;;
    --models=*) models=${1#*=} ;;
    *) given+=("$1") ;;
  esac
  shift
done

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
status=0 began=$SECONDS
part() {  # a name, then a command: what is left of the budget is its limit
  local name=$1 left=$((budget - SECONDS + began))
  shift
  if [ $left -lt 5 ]; then
    echo "bench/gpu.sh: $name: no time is left" >&2
    return 1
  fi
  timeout -k 10 $left "$@" && return
  echo "bench/gpu.sh: $name failed, or ran out of time" >&2
  return 1
}
measure() {  # a name, then arguments of the measurement
  local name=$1
  shift
  part "$name" "$python" -m dualstep.measure.gpu --device "$device" --bench bench --points "$logs/points.jsonl" \
    "${measured[@]}" "$@" || status=1
}

# a figure first, whatever comes of the rest
[ -n "$cpu" ] || measure "first figure" "${given[@]}" --models humanoid --sizes 8192 --seconds 1 --peers none
if [ -n "$tests" ]; then
  # golden hashes are those of this device; the rest of that file is about it
  chosen="not (test_golden_hash and ($([ -n "$cpu" ] && echo "cuda or emulated" || echo "-cpu or emulated")))"
  [ -z "$quick" ] || chosen="$chosen and (reacher or broken or saved or single_bit)"
  run_tests() {  # a name, a file, then arguments of pytest
    local name=$1 file=$2
    shift 2
    part "$name" "$python" -m pytest -q -p no:cacheprovider --junitxml="$logs/$name.xml" "$(find tests/python -name "$file")" \
      "$@" >&2 || status=1
    [ ! -f "$logs/$name.xml" ] || measured+=(--tests "$logs/$name.xml")
  }
  # tests compile nothing for a model where they do not say so: hundreds of models would be compiled
  export DUALSTEP_SPECIALIZE=0
  run_tests golden test_golden.py -k "$chosen"
  run_tests cuda test_cuda.py -k "$chosen"
  [ -n "$cpu$quick" ] || run_tests environments test_envs_cuda.py
  unset DUALSTEP_SPECIALIZE
  # and the golden hashes of specialised kernels
  [ -n "$cpu$quick" ] || DUALSTEP_SPECIALIZE=1 run_tests special test_golden.py -k "test_golden_hash and cuda"
fi
for model in ${models//,/ }; do
  measure "$model" --models "$model" "${given[@]}"
done
[ $status = 0 ] || echo "bench/gpu.sh: something failed; see above" >&2
exit $status
