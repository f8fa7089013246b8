#!/usr/bin/env bash
# The first call on a GPU: is it right, and how fast. What matters most comes first, and nothing waits for the end
# shellcheck source=parts.sh
. "$(dirname "${BASH_SOURCE[0]}")/parts.sh"
# of some sizes the last block has warps without environments, and the last warp with environments threads without one
sizes='[512,2048,8192,10001,32768,131072]' size='[8192]' few='[4,4099]'
[ -z "$fast" ] || sizes='[6,21]' size='[8]' few='[2,21]'

# 1. one step of a few environments, with a limit, for what may hang is a barrier: of one warp, and of several of which
# some have left; then the first figure, and its bits
part smoke 45 "$python" "$here/figures.py" humanoid 8 "$few" once
part figure 60 "$python" "$here/figures.py" humanoid 8 "$size"
TAIL=8 on_device facts 20 bash -c "nvidia-smi --query-gpu=name,driver_version,compute_cap,clocks.max.sm,memory.total \
  --format=csv,noheader; nvcc --version | tail -1; ncu --version | tail -1; nproc; cat COMMIT; \
  $python -c 'import dualstep as ds; print(ds._core.describe_specialization())'"
part smoke_generic 60 env DUALSTEP_SPECIALIZE=0 "$python" "$here/figures.py" humanoid 8 "$few" once

# 2. golden hashes, of the kernels for all models and of those specialised for each
golden() {  # a name, seconds, DUALSTEP_SPECIALIZE
  part "$1" "$2" env DUALSTEP_SPECIALIZE="$3" "$python" -m pytest -q -p no:cacheprovider --junitxml="$OUT/$1.xml" \
    -n "${JOBS:-8}" "$(find tests/python -name test_golden.py)" -k "test_golden_hash and cuda ${GOLDEN:-}"
}
golden golden_generic 120 0
golden golden_special 120 1

# 3. what the time goes into; memory, on the real thing
on_device profile 90 ncu --clock-control none --set full --import-source no -k regex:fused_step -s 1 -c 1 -f \
  -o "$OUT/humanoid8" "$python" "$here/figures.py" humanoid 8 '[8192]' once
TAIL=40 on_device stalls 20 ncu --import "$OUT/humanoid8.ncu-rep" --page details
# for bench/cost/stalls.py
on_device instructions 30 bash -c "ncu --import $OUT/humanoid8.ncu-rep --page source --csv | gzip >$OUT/humanoid8.csv.gz"
on_device memcheck 80 compute-sanitizer --tool memcheck "$python" "$here/figures.py" ant 8 '[4099]' once

# 4. all sizes
TAIL=8 part sizes 60 "$python" "$here/figures.py" humanoid 8 "$sizes"

# 5. everything else that a GPU must do, until the time is over
part tests 300 env DUALSTEP_SPECIALIZE=0 "$python" -m pytest -q -p no:cacheprovider --junitxml="$OUT/tests.xml" \
  -n "${JOBS:-8}" "$(find tests/python -name test_cuda.py)" ${fast:+-k broken}
ends
