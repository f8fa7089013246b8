#!/usr/bin/env bash
# The third call: MuJoCo Warp on the same card, from the same states, with the same measure of accuracy, point by point
# shellcheck source=parts.sh
. "$(dirname "${BASH_SOURCE[0]}")/parts.sh"
pieces=${PIECES:-/tmp/pieces}
[ -z "$fast" ] || ends
wanted=$(cat "$carried/peer-pieces" 2>/dev/null || echo 0)
found=$(find "$pieces" -name 'piece-*' 2>/dev/null | wc -l)
if [ "$found" -ne "$wanted" ] || [ "$wanted" = 0 ]; then
  echo "call3.sh: $found of $wanted pieces of the peer are in $pieces; piece.sh puts them there" >&2
  exit 1
fi
mkdir -p /tmp/peer
part join 60 bash -c "cat $pieces/piece-* | xz -d | tar -x -C /tmp/peer" || ends
export PYTHONPATH=/tmp/peer:$PYTHONPATH
for size in 8192 512 2048 32768; do
  part "humanoid_$size" 120 "$python" -m dualstep.measure.gpu --device cuda --bench bench --out "$OUT" --lanes 8 --peers warp \
    --models humanoid --sizes $size --seconds 2 --points "$OUT/points.jsonl"
done
part three_8192 120 "$python" -m dualstep.measure.gpu --device cuda --bench bench --out "$OUT" --lanes 8 --peers warp \
  --models three_humanoids --sizes 8192 --seconds 2 --points "$OUT/points.jsonl"
ends
