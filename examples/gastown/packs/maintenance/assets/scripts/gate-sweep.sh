#!/bin/sh
# Closes gates that need not wait any longer: timers that ran out, conditions that hold, pull requests and runs on GitHub
# that are finished.
#
# The condition of a gate (metadata "condition", else await_id) is the path of a check script in the city; exit 0 of it
# means "holds". Anything else than an executable file inside the city is never run.
set -eu

CITY=${GC_CITY:-.}
CHECK_TIMEOUT=30 # seconds for one condition

command -v bd >/dev/null 2>&1 || exit 0
cd "$CITY" 2>/dev/null || exit 0
city_root=$(pwd -P)
bd gate check --type=timer --escalate >/dev/null 2>&1 || true
command -v jq >/dev/null 2>&1 || exit 0

# One line per open gate of a type: id, what it waits for, its kind, the repository; separated by tabs.
open_gates() {
  bd gate list --type="$1" --status=open --json 2>/dev/null | jq -r '
    if type == "array" then .[] else empty end
    | select(.id | type == "string")
    | [.id, (.metadata.condition? // .await_id // "-"), (.await_type // "-"), (.metadata.repo? // "-")]
    | map(tostring) | @tsv' 2>/dev/null || true
}

bounded() {
  if command -v timeout >/dev/null 2>&1; then timeout "$CHECK_TIMEOUT" "$@"; else "$@"; fi
}

condition_holds() {
  case "$1" in /*) file=$1 ;; *) file=$city_root/$1 ;; esac
  [ -f "$file" ] && [ -x "$file" ] || return 1
  folder=$(cd "$(dirname "$file")" && pwd -P) || return 1
  case "$folder/" in "$city_root"/*) ;; *) return 1 ;; esac
  GC_GATE_ID=$2 bounded "$file" >/dev/null 2>&1 </dev/null
}

github_done() { # id, kind, repository
  case "$1" in '' | *[!0-9]*) return 1 ;; esac
  number=$1
  kind=$2
  if [ "$3" = - ]; then set --; else set -- -R "$3"; fi
  case "$kind" in
    gh:pr) [ "$(bounded gh pr view "$number" "$@" --json state -q .state 2>/dev/null </dev/null)" = MERGED ] ;;
    gh:run) [ "$(bounded gh run view "$number" "$@" --json conclusion -q .conclusion 2>/dev/null </dev/null)" = success ] ;;
    *) return 1 ;;
  esac
}

tab=$(printf '\t')
open_gates condition | while IFS="$tab" read -r id condition _rest; do
  if condition_holds "$condition" "$id"; then
    bd gate close "$id" --reason "condition holds: $condition" >/dev/null 2>&1 </dev/null || true
  fi
done

command -v gh >/dev/null 2>&1 || exit 0
open_gates gh | while IFS="$tab" read -r id number kind repository; do
  if github_done "$number" "$kind" "$repository"; then
    bd gate close "$id" --reason "$kind $number is done" >/dev/null 2>&1 </dev/null || true
  fi
done
