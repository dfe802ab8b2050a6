#!/bin/sh
# Puts work back whose assignee is gone: no session and no agent of that name exists any more.
#
# Taking work from a living agent is worse than leaving it with a dead one, so this acts only on work that the city itself
# routed, only when both lists of names could be read, and only on what it found orphaned in the run before as well.
set -eu

CITY=${GC_CITY:-.}

command -v bd >/dev/null 2>&1 || exit 0
command -v jq >/dev/null 2>&1 || exit 0
GC=${GC_BIN:-gc}
command -v "$GC" >/dev/null 2>&1 || exit 0
cd "$CITY" 2>/dev/null || exit 0
STATE_DIR=${GC_PACK_STATE_DIR:-${GC_CITY_RUNTIME_DIR:-.gc/runtime}/packs/maintenance}
mkdir -p "$STATE_DIR"
SEEN=$STATE_DIR/orphan-sweep.seen

agents=$("$GC" config show 2>/dev/null | awk '
  /^[[:space:]]*\[/ { in_agent = ($0 ~ /^[[:space:]]*\[\[agents?\]\]/) }
  in_agent && /^[[:space:]]*name[[:space:]]*=/ {
    value = $0
    sub(/^[^=]*=[[:space:]]*/, "", value)
    gsub(/["\047]/, "", value)
    sub(/[[:space:]]*(#.*)?$/, "", value)
    print value
  }') || exit 0
[ -n "$agents" ] || exit 0
# An empty list is an answer; a failed command or something else than a list is not.
answer=$("$GC" session list --json 2>/dev/null) || exit 0
sessions=$(printf '%s' "$answer" | jq -rs 'if length == 1 and (.[0] | type) == "array" then .[0][] else error("no list") end
  | select(.Closed != true) | .ID, .SessionName, .Alias | select(type == "string" and . != "")' 2>/dev/null) || exit 0

lives() {
  printf '%s\n' "$sessions" | grep -qxF -- "$1" && return 0
  # "rig/pack.worker-2" is known when "rig/pack.worker-2", "worker-2" or "worker" is.
  bare=${1##*/}
  for name in "$1" "$bare" "${bare##*.}" "${1%-*}" "${bare%-*}"; do
    printf '%s\n' "$agents" | grep -qxF -- "$name" && return 0
  done
  bare=${bare##*.}
  printf '%s\n' "$agents" | grep -qxF -- "${bare%-*}"
}

found=$SEEN.new.$$
trap 'rm -f "$found"' EXIT
tab=$(printf '\t')
bd list --status=in_progress --json --limit=0 2>/dev/null |
  jq -r 'if type == "array" then .[] else empty end
    | select((.assignee // "") != "" and (.metadata["gc.routed_to"]? // "") != "")
    | [.id, .assignee] | @tsv' 2>/dev/null |
  while IFS="$tab" read -r id assignee; do
    if lives "$assignee"; then continue; fi
    printf '%s\t%s\n' "$id" "$assignee"
  done >"$found" || exit 0

while IFS="$tab" read -r id assignee; do
  if grep -qxF -- "$id$tab$assignee" "$SEEN" 2>/dev/null; then
    bd update "$id" --status=open --assignee="" >/dev/null 2>&1 </dev/null || continue
    echo "$id: put back, $assignee is gone"
  fi
done <"$found"
mv "$found" "$SEEN"
trap - EXIT
