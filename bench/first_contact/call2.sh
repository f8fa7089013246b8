#!/usr/bin/env bash
# The second call: how a step is launched best, what other libraries see, races, other models, the host's cores
# shellcheck source=parts.sh
. "$(dirname "${BASH_SOURCE[0]}")/parts.sh"
sizes='[8192,131072]'
[ -z "$fast" ] || sizes='[6]'
figures() {  # a name, VARIABLE=value, a model, lanes
  TAIL=2 part "$1" 45 env "$2" "$python" "$here/figures.py" "$3" "$4" "$sizes"
}

figures lanes8 DUALSTEP_CUDA_SORT=1 humanoid 8
# of blocks of several warps, in the last of which some have left
for tool in racecheck synccheck initcheck; do
  on_device $tool 60 compute-sanitizer --tool $tool "$python" "$here/figures.py" ant 8 '[4099]' once
done
figures unsorted DUALSTEP_CUDA_SORT=0 humanoid 8
# how many warps of an SM go through the step together
figures warps2 DUALSTEP_CUDA_WARPS=2 humanoid 8
figures warps8 DUALSTEP_CUDA_WARPS=8 humanoid 8
figures carve_out DUALSTEP_CUDA_CARVEOUT=default humanoid 8
figures addresses DUALSTEP_CUDA_ADDRESSES=1 humanoid 8
if [ -z "$fast" ]; then
  figures lanes16 DUALSTEP_CUDA_SORT=1 humanoid 16
  figures lanes4 DUALSTEP_CUDA_SORT=1 humanoid 4
  figures lanes32 DUALSTEP_CUDA_SORT=1 humanoid 32
  figures lanes1 DUALSTEP_CUDA_SORT=1 humanoid 1
  figures shared32 DUALSTEP_CUDA_SCRATCH=shared humanoid 32
  figures in_parts DUALSTEP_CUDA_SORT=1 humanoid '[1,8,8,8,1]'
  figures generic DUALSTEP_SPECIALIZE=0 humanoid 8
fi
TAIL=12 part interop 90 "$python" "$here/interop.py" ${fast:+array_interface}
on_device environments 90 "$python" -m pytest -q -p no:cacheprovider --junitxml="$OUT/environments.xml" \
  "$(find tests/python -name test_envs_cuda.py)"
# the receipt has the commit, and what pytest wrote in the first call where that is still here
tests=()
for file in "$OUT"/golden_*.xml "$OUT"/tests.xml; do [ ! -f "$file" ] || tests+=(--tests "$file"); done
receipt() {  # a name, a model, environments, seconds, other arguments
  part "$1" 90 "$python" -m dualstep.measure.gpu --bench bench --out "$OUT" --peers none --models "$2" --sizes "$3" \
    --seconds "$4" --points "$OUT/points.jsonl" "${tests[@]}" "${@:5}"
}
if [ -n "$fast" ]; then
  receipt receipt humanoid 8 0.1 --device cpu
else
  receipt receipt humanoid 8192 1 --device cuda --lanes 8
  figures ant DUALSTEP_CUDA_SORT=1 ant 8
  figures g1 DUALSTEP_CUDA_SORT=1 g1 8
  figures three DUALSTEP_CUDA_SORT=1 three_humanoids 8
fi
on_device profile1 60 ncu --clock-control none --section SpeedOfLight --section WarpStateStats \
  --section MemoryWorkloadAnalysis --section Occupancy -k regex:fused_step -s 4 -c 1 "$python" "$here/figures.py" humanoid 1 \
  '[131072]' once
# what wants no GPU: the last thing that a call's time is spent on
TAIL=30 part cores 120 "$python" "$here/cores.py" \
  ${fast:+--seconds 0.05 --environments 16 --threads 1 --models humanoid,heap}
ends
