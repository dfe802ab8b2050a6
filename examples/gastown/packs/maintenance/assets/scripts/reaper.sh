#!/bin/sh
# Takes away what is long over, in every bead store of the city:
#   - closes short-lived beads that are open for longer than GC_REAPER_MAX_AGE and whose parent is closed
#   - deletes short-lived beads that were closed longer ago than GC_REAPER_PURGE_AGE
#   - deletes mail that was closed longer ago than GC_REAPER_MAIL_DELETE_AGE
#   - closes unassigned tasks, bugs and chores of low priority (3, 4) that nobody touched for GC_REAPER_STALE_ISSUE_AGE and
#     that nothing waits for
# and tells the mayor, once until it is over, when more than GC_REAPER_ALERT_THRESHOLD short-lived beads are open.
# GC_REAPER_DRY_RUN=1 only counts.
set -eu

CITY=${GC_CITY:-.}
ALERT_THRESHOLD=${GC_REAPER_ALERT_THRESHOLD:-500}
DRY_RUN=${GC_REAPER_DRY_RUN:-}
QUERY_TIMEOUT=30 # seconds for one statement
BATCH=200        # beads of one kind and run; the next run takes the rest

for tool in dolt jq bd; do
  command -v "$tool" >/dev/null 2>&1 || exit 0
done
GC=${GC_BIN:-gc}
cd "$CITY" 2>/dev/null || exit 0
CITY=$(pwd)
STATE_DIR=${GC_PACK_STATE_DIR:-${GC_CITY_RUNTIME_DIR:-.gc/runtime}/packs/maintenance}
mkdir -p "$STATE_DIR"

fail() {
  echo "reaper: $*" >&2
  exit 1
}

# "90m", "24h", "7d" ago, as SQL wants it; UTC.
ago() { # name, age
  number=${2%[smhd]}
  case "$number" in '' | *[!0-9]*) fail "$1: \"$2\" is not a duration like 24h" ;; esac
  case "$2" in
    *s) unit=1 ;;
    *m) unit=60 ;;
    *h) unit=3600 ;;
    *d) unit=86400 ;;
    *) fail "$1: \"$2\" has no unit (s, m, h, d)" ;;
  esac
  at=$(($(date +%s) - number * unit))
  date -u -d "@$at" '+%Y-%m-%d %H:%M:%S' 2>/dev/null || date -u -r "$at" '+%Y-%m-%d %H:%M:%S'
}

open_before=$(ago GC_REAPER_MAX_AGE "${GC_REAPER_MAX_AGE:-24h}")
purge_before=$(ago GC_REAPER_PURGE_AGE "${GC_REAPER_PURGE_AGE:-168h}")
stale_before=$(ago GC_REAPER_STALE_ISSUE_AGE "${GC_REAPER_STALE_ISSUE_AGE:-720h}")
mail_before=$(ago GC_REAPER_MAIL_DELETE_AGE "${GC_REAPER_MAIL_DELETE_AGE:-168h}")
case "$ALERT_THRESHOLD" in '' | *[!0-9]*) fail "GC_REAPER_ALERT_THRESHOLD: \"$ALERT_THRESHOLD\" is not a number" ;; esac

ask() { # text
  set -- dolt --host "${GC_DOLT_HOST:-127.0.0.1}" --port "${GC_DOLT_PORT:-3307}" --user "${GC_DOLT_USER:-root}" --no-tls \
    --use-db "$database" sql -q "$1" -r csv
  if command -v timeout >/dev/null 2>&1; then set -- timeout "$QUERY_TIMEOUT" "$@"; fi
  DOLT_CLI_PASSWORD=${GC_DOLT_PASSWORD:-} "$@" </dev/null 2>/dev/null
}

# Values of the first column, one a line.
rows() {
  ask "$1" | tail -n +2 | tr -d '\r'
}

count_of() {
  rows "SELECT COUNT(*) FROM issues WHERE $1" | head -n 1
}

# The condition is the same for counting and for deleting.
purge() { # what, condition
  count=$(count_of "$2") || return 0
  case "$count" in '' | 0 | *[!0-9]*) return 0 ;; esac
  if [ -n "$DRY_RUN" ]; then
    echo "$database: would delete $count $1"
    return 0
  fi
  ask "DELETE FROM issues WHERE $2 LIMIT $BATCH" >/dev/null || return 0
  changed=1
  echo "$database: deleted $1, $count were due"
}

close_all() { # what, reason, condition
  ids=$(rows "SELECT id FROM issues WHERE $3 ORDER BY id LIMIT $BATCH") || return 0
  [ -n "$ids" ] || return 0
  if [ -n "$DRY_RUN" ]; then
    echo "$database: would close $(printf '%s\n' "$ids" | wc -l | tr -d ' ') $1"
    return 0
  fi
  printf '%s\n' "$ids" | while IFS= read -r id; do
    case "$id" in '' | -* | *[!A-Za-z0-9_.:-]*) continue ;; esac
    (cd "$path" && bd close "$id" --reason "$2" >/dev/null 2>&1 </dev/null) && echo "$database: closed $id ($2)"
  done || true
}

tell() {
  command -v "$GC" >/dev/null 2>&1 || return 0
  "$GC" mail send mayor/ -s "$1" -m "$2" >/dev/null 2>&1 </dev/null || true
  "$GC" nudge deacon/ "$1" >/dev/null 2>&1 </dev/null || true
}

reap() { # one store: $path, $database
  changed=''
  open=$(count_of "ephemeral = 1 AND status <> 'closed'") || return 0
  case "$open" in '' | *[!0-9]*) return 0 ;; esac

  close_all 'short-lived beads' 'its parent is closed' \
    "ephemeral = 1 AND status IN ('open', 'in_progress', 'blocked') AND updated_at < '$open_before' AND id IN (
       SELECT d.issue_id FROM dependencies d JOIN issues p ON p.id = d.depends_on_id
       WHERE d.type = 'parent-child' AND p.status = 'closed')"
  purge 'short-lived beads' "ephemeral = 1 AND status = 'closed' AND closed_at < '$purge_before'"
  purge 'mail' "issue_type = 'message' AND status = 'closed' AND closed_at < '$mail_before'"
  close_all 'stale beads' 'nobody touched it for a long time; reopen it if it still matters' \
    "ephemeral = 0 AND status = 'open' AND COALESCE(assignee, '') = '' AND issue_type IN ('task', 'bug', 'chore')
       AND priority >= 3 AND updated_at < '$stale_before' AND id NOT IN (SELECT depends_on_id FROM dependencies)"

  if [ -n "$changed" ]; then ask "CALL DOLT_COMMIT('-A', '-m', 'housekeeping: what is long over')" >/dev/null || true; fi
  told=$STATE_DIR/reaper-told-$database
  if [ -n "$DRY_RUN" ]; then
    return 0
  elif [ "$open" -le "$ALERT_THRESHOLD" ]; then
    rm -f "$told"
  elif [ ! -e "$told" ]; then
    : >"$told"
    tell "reaper: $open short-lived beads are open in $database" \
      "More than $ALERT_THRESHOLD. Something makes them faster than they are worked off; look at: gc order history, bd list --status=open"
  fi
}

rigs=$("$GC" rig list --json 2>/dev/null |
  jq -r '(if type == "array" then . else .rigs // [] end)[] | .path // empty' 2>/dev/null) || rigs=''
done_before=' '
while IFS= read -r path; do
  [ -n "$path" ] || continue
  database=$(jq -r '.dolt_database // empty' "$path/.beads/metadata.json" 2>/dev/null) || continue
  case "$database" in '' | -* | *[!A-Za-z0-9_.-]*) continue ;; esac
  case "$done_before" in *" $database "*) continue ;; esac
  done_before="$done_before$database "
  reap
done <<END
$CITY
$rigs
END
