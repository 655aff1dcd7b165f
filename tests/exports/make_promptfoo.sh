#!/bin/sh
# Writes promptfoo.json by running promptfoo itself with its echo provider.
# npm install promptfoo@0.121.20, then: PROMPTFOO=node_modules/.bin/promptfoo sh make_promptfoo.sh
set -e
here="$(cd "$(dirname "$0")" && pwd)"
folder="$(mktemp -d)"
cat > "$folder/config.yaml" <<'Y'
prompts: ["Say {{word}}"]
providers: [echo]
tests:
  - {vars: {word: cat}, assert: [{type: contains, value: cat}, {type: javascript, metric: short, value: "output.length < 8"}]}
  - {vars: {word: elephant}, assert: [{type: contains, value: elephant}, {type: javascript, metric: short, value: "output.length < 8"}]}
  - {vars: {word: dog}, assert: [{type: contains, value: bird}, {type: javascript, metric: short, value: "output.length < 8"}]}
  - {vars: {word: ant}, assert: [{type: contains, value: ant}, {type: javascript, metric: short, value: "output.length < 8"}]}
Y
cd "$folder"
PROMPTFOO_DISABLE_TELEMETRY=1 PROMPTFOO_DISABLE_UPDATE=1 PROMPTFOO_CONFIG_DIR="$folder/home" \
  "$PROMPTFOO" eval -c config.yaml -o out.json --no-cache --no-progress-bar --no-table || true
# A rating in promptfoo's own page adds a component of type human to what the assertions said.
python3 - out.json "$here/promptfoo.json" <<'P'
import json
import sys

whole = json.load(open(sys.argv[1]))
for position, verdict in ((0, True), (1, False)):
    graded = whole["results"]["results"][position]["gradingResult"]
    graded["componentResults"].append(
        {"pass": verdict, "score": float(verdict), "reason": "Manual result", "assertion": {"type": "human"}}
    )
json.dump(whole, open(sys.argv[2], "w"), indent=1)
P
rm -rf "$folder"
