#!/bin/sh
# Work that is taken and handed back again and again starts one session after the other and gets nowhere. This counts how
# often each routed bead came back without an assignee, and tells the mayor once per bead and threshold.
set -eu

CITY=${GC_CITY:-.}
THRESHOLD=${GC_SPAWN_STORM_THRESHOLD:-5}

command -v bd >/dev/null 2>&1 || exit 0
command -v jq >/dev/null 2>&1 || exit 0
GC=${GC_BIN:-gc}
cd "$CITY" 2>/dev/null || exit 0
case "$THRESHOLD" in '' | 0 | *[!0-9]*) THRESHOLD=5 ;; esac
STATE_DIR=${GC_PACK_STATE_DIR:-${GC_CITY_RUNTIME_DIR:-.gc/runtime}/packs/maintenance}
mkdir -p "$STATE_DIR"
LEDGER=$STATE_DIR/spawn-storm.tsv
next=$LEDGER.new.$$
trap 'rm -f "$next"' EXIT

tab=$(printf '\t')
listed=$(bd list --status=open --assignee="" --json --limit=0 2>/dev/null |
  jq -r 'if type == "array" then .[] else empty end
    | select((.metadata["gc.routed_to"]? // "") != "")
    | [.id, (.updated_at // "-"), .metadata["gc.routed_to"]] | @tsv' 2>/dev/null) || exit 0

printf '%s\n' "$listed" | while IFS="$tab" read -r id updated target; do
  [ -n "$id" ] || continue
  before=$(awk -F '\t' -v id="$id" '$1 == id { print $2 "\t" $3; exit }' "$LEDGER" 2>/dev/null || true)
  count=0
  if [ -n "$before" ]; then
    count=${before#*"$tab"}
    if [ "${before%%"$tab"*}" != "$updated" ]; then
      count=$((count + 1))
      if [ $((count % THRESHOLD)) -eq 0 ]; then
        "$GC" mail send mayor/ -s "spawn storm: $id came back $count times" \
          -m "$id is routed to $target and has been handed back $count times without getting closed. Read its notes (bd show $id); take it off the queue with: bd update $id --set-metadata gc.routed_to=" \
          >/dev/null 2>&1 </dev/null || true
      fi
    fi
  fi
  printf '%s\t%s\t%s\n' "$id" "$updated" "$count"
done >"$next"
# Beads that are being worked on keep their count until they are closed or gone.
if [ -s "$LEDGER" ]; then
  active=$(bd list --status=in_progress --json --limit=0 2>/dev/null |
    jq -r 'if type == "array" then .[] else empty end | .id // empty' 2>/dev/null) || active=''
  while IFS="$tab" read -r id updated count; do
    if printf '%s\n' "$active" | grep -qxF -- "$id"; then printf '%s\t%s\t%s\n' "$id" "$updated" "$count"; fi
  done <"$LEDGER" >>"$next"
fi
mv "$next" "$LEDGER"
trap - EXIT
