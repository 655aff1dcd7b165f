#!/bin/sh
# A release gate for a pipeline: add this week's labels to the team's store, estimate, and fail if we cannot be sure.
#
#   sh examples/release_gate.sh                                   the built-in example in a store of its own
#   ROUND=2026-w46 MODEL=v7 LABELS=exports/labels.json HERO_STORE=s3://team/evals LIMIT=0.3 sh examples/release_gate.sh
#
# Ends with 0 if the gate is open, 4 if it is closed or undecided (a finding puts the interval in doubt), 2 or 3 if
# something is wrong with the data. The number and the verdict go to estimate.json, what a person should read to stdout,
# and what keeps the gate shut, with what to do, to stderr.
set -eu

if [ -z "${LABELS:-}" ]; then
  example="$(python -c 'import hero_eval, pathlib; print(pathlib.Path(hero_eval.__file__).parent / "examples" / "defect")')"
  HERO_STORE="$(mktemp -d)/store"
  export HERO_STORE
  hero init
  hero add "$example/history" --round 2026-w45 --model v6 --question defect
  LABELS="$example/current"
fi
ROUND="${ROUND:-2026-w46}"
LIMIT="${LIMIT:-0.3}"

# A pipeline that is run again must not fail because its labels are there already.
if [ -d "$LABELS" ]; then
  hero add "$LABELS" --round "$ROUND" --model "${MODEL:-v7}" --exist-ok
else
  hero import "$LABELS" --round "$ROUND" --model "${MODEL:-v7}" --exist-ok
fi
hero estimate --round "$ROUND" --json --fail-above "$LIMIT" > estimate.json 2> /dev/null || true
hero estimate --round "$ROUND" --fail-above "$LIMIT"
