#!/bin/sh
# A bead that waits for a bead of another rig is not released when that one closes, because each rig has a store of its
# own. For every bead closed lately this turns such dependencies from "blocks" into "related".
set -eu

CITY=${GC_CITY:-.}
LOOK_BACK_MIN=15 # minutes; three times the interval of the order, so that a missed run loses nothing

command -v bd >/dev/null 2>&1 || exit 0
command -v jq >/dev/null 2>&1 || exit 0
cd "$CITY" 2>/dev/null || exit 0

since=$(($(date +%s) - LOOK_BACK_MIN * 60))
after=$(date -u -d "@$since" +%Y-%m-%dT%H:%M:%SZ 2>/dev/null || date -u -r "$since" +%Y-%m-%dT%H:%M:%SZ)

prefix_of() {
  bare=${1##*:}
  echo "${bare%%-*}"
}

bd list --status=closed --closed-after="$after" --json 2>/dev/null |
  jq -r 'if type == "array" then .[] else empty end | .id // empty' 2>/dev/null |
  while IFS= read -r closed; do
    bd dep list "$closed" --direction=up --type=blocks --json 2>/dev/null </dev/null |
      jq -r 'if type == "array" then .[] else empty end | .id // empty' 2>/dev/null |
      while IFS= read -r waiting; do
        if [ "$(prefix_of "$waiting")" = "$(prefix_of "$closed")" ]; then continue; fi
        bd dep remove "$waiting" "$closed" >/dev/null 2>&1 </dev/null || continue
        bd dep add "$waiting" "$closed" --type=related >/dev/null 2>&1 </dev/null ||
          bd dep add "$waiting" "$closed" --type=blocks >/dev/null 2>&1 </dev/null || true
      done || true
  done || true
