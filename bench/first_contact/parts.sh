# shellcheck shell=bash
# for call1.sh and the others: parts of a call, each with a limit of its own; what is found is in $OUT at once
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.." || exit 1
carried=${CARRIED:-$(cd .. && pwd)} began=$SECONDS budget=${BUDGET:-570} fast=${FAST:-} failed=0
export OUT=${OUT:-/tmp/out} PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
# the order in which nvidia-smi counts is then CUDA's too
export CUDA_DEVICE_ORDER=PCI_BUS_ID MODELS_FOLDER=$carried/models
scratch=$(mktemp -d)
mkdir -p "$OUT"
log=$OUT/log.txt table=$OUT/parts.txt

# a name, seconds at most, a command: its end is printed
part() {
  local name=$1 limit=$2 left=$((budget - SECONDS + began)) at=$SECONDS rc=0
  shift 2
  if [ $left -le 5 ]; then
    echo "$name: no time left" | tee -a "$table"
    failed=1
    return 1
  fi
  [ "$limit" -lt $left ] || limit=$left
  printf '\n===== %s (at most %d s): %s\n' "$name" "$limit" "$*" >>"$log"
  timeout -k 5 "$limit" "$@" >"$scratch/$name" 2>&1 || rc=$?
  cat "$scratch/$name" >>"$log"
  printf '%-22s rc %-3d %3d s, begun at %3d s\n' "$name" $rc $((SECONDS - at)) $((at - began)) | tee -a "$table"
  tail -n "${TAIL:-3}" "$scratch/$name" | cut -c1-300
  [ $rc = 0 ] || failed=1
  return $rc
}
# parts that only a device, and its tools, can run
on_device() { [ -n "$fast" ] || part "$@"; }
ends() {
  echo
  cat "$table" "$OUT"/figures.jsonl 2>/dev/null
  rm -rf "$scratch"
  exit $failed
}

if [ -z "${REHEARSE:-}" ]; then
  python=python3
  # a copy: the device looks its machine code up there, and adds to it
  export DUALSTEP_CACHE_DIR=/tmp/dualstep-cache
  mkdir -p $DUALSTEP_CACHE_DIR
  cp -n "$carried"/cache/* $DUALSTEP_CACHE_DIR/
  part install 60 $python -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade \
    --target /tmp/site "$carried"/whl/*.whl || ends
  export PYTHONPATH=/tmp/site
else
  python=$REHEARSE
fi
