#!/bin/sh
# Writes the beads of every database as one JSON object a line into a git archive, commits, and pushes when the archive has
# a remote.
#
# GC_JSONL_ARCHIVE_REPO      the archive (default: jsonl-archive in the state folder)
# GC_JSONL_SCRUB             true: mail and short-lived beads stay out
# GC_JSONL_SPIKE_THRESHOLD   percent; a database that grew or shrank by more is held back and reported
# GC_JSONL_MAX_PUSH_FAILURES so many failed pushes in a row are reported
set -eu
umask 077 # beads hold what people and agents wrote to each other

CITY=${GC_CITY:-.}
SPIKE_THRESHOLD=${GC_JSONL_SPIKE_THRESHOLD:-20}
SPIKE_MIN_ROWS=10 # fewer changed rows are no spike, whatever the percentage
MAX_PUSH_FAILURES=${GC_JSONL_MAX_PUSH_FAILURES:-3}
SCRUB=${GC_JSONL_SCRUB:-true}
QUERY_TIMEOUT=60 # seconds for one database

for tool in dolt git jq; do
  command -v "$tool" >/dev/null 2>&1 || exit 0
done
GC=${GC_BIN:-gc}
cd "$CITY" 2>/dev/null || exit 0
for number in "$SPIKE_THRESHOLD" "$MAX_PUSH_FAILURES"; do
  case "$number" in
    '' | *[!0-9]*)
      echo "jsonl-export: \"$number\" is not a whole number (GC_JSONL_SPIKE_THRESHOLD, GC_JSONL_MAX_PUSH_FAILURES)" >&2
      exit 1
      ;;
  esac
done
STATE_DIR=${GC_PACK_STATE_DIR:-${GC_CITY_RUNTIME_DIR:-.gc/runtime}/packs/maintenance}
mkdir -p "$STATE_DIR"
STATE_DIR=$(cd "$STATE_DIR" && pwd)
ARCHIVE=${GC_JSONL_ARCHIVE_REPO:-$STATE_DIR/jsonl-archive}

sql() { # text, form
  if command -v timeout >/dev/null 2>&1; then set -- timeout "$QUERY_TIMEOUT" dolt "$@"; else set -- dolt "$@"; fi
  DOLT_CLI_PASSWORD=${GC_DOLT_PASSWORD:-} "$@" </dev/null 2>/dev/null
}

ask() { # text, form
  sql --host "${GC_DOLT_HOST:-127.0.0.1}" --port "${GC_DOLT_PORT:-3307}" --user "${GC_DOLT_USER:-root}" --no-tls \
    sql -q "$1" -r "$2"
}

tell() {
  command -v "$GC" >/dev/null 2>&1 || return 0
  "$GC" mail send mayor/ -s "$1" -m "$2" >/dev/null 2>&1 </dev/null || true
  "$GC" nudge deacon/ "$1" >/dev/null 2>&1 </dev/null || true
}

databases=$(ask 'SHOW DATABASES' csv | tail -n +2 | tr -d '\r') || exit 0
[ -n "$databases" ] || exit 0
if [ ! -d "$ARCHIVE/.git" ]; then
  mkdir -p "$ARCHIVE"
  git -C "$ARCHIVE" init -q
fi

work=$(mktemp -d "$STATE_DIR/jsonl-export.XXXXXX")
trap 'rm -rf "$work"' EXIT
for name in $databases; do
  case "$name" in
    -* | .* | *[!A-Za-z0-9_.-]* | information_schema | mysql | performance_schema | sys | dolt) continue ;;
  esac
  ask "SELECT * FROM \`$name\`.issues ORDER BY id" json >"$work/answer" || continue
  jq -c --arg scrub "$SCRUB" '.rows // [] | .[]
    | select($scrub != "true" or ((.issue_type // "") != "message" and ((.ephemeral // 0) | tostring | IN("1", "true") | not)))' \
    "$work/answer" >"$work/$name.jsonl" 2>/dev/null || continue

  target=$ARCHIVE/$name.jsonl
  now=$(wc -l <"$work/$name.jsonl" | tr -d ' ')
  before=0
  if [ -f "$target" ]; then before=$(wc -l <"$target" | tr -d ' '); fi
  change=$((now - before))
  if [ "$change" -lt 0 ]; then change=$((-change)); fi
  if [ "$before" -gt 0 ] && [ "$change" -gt "$SPIKE_MIN_ROWS" ] && [ $((change * 100)) -gt $((before * SPIKE_THRESHOLD)) ]; then
    echo "$name: held back, $before -> $now rows"
    if [ "$(cat "$STATE_DIR/jsonl-held-$name" 2>/dev/null || true)" != "$before $now" ]; then
      echo "$before $now" >"$STATE_DIR/jsonl-held-$name"
      tell "jsonl export: $name went from $before to $now beads" \
        "More than $SPIKE_THRESHOLD percent, so it was not archived. If the change is meant: GC_JSONL_SPIKE_THRESHOLD=1000000 $0"
    fi
    continue
  fi
  rm -f "$STATE_DIR/jsonl-held-$name"
  mv "$work/$name.jsonl" "$target"
  git -C "$ARCHIVE" add -- "$name.jsonl"
done

if ! git -C "$ARCHIVE" diff --cached --quiet 2>/dev/null; then
  git -C "$ARCHIVE" -c user.name="Gas City" -c user.email="gas-city@localhost" -c commit.gpgsign=false \
    commit -q -m "beads as of $(date -u +%Y-%m-%dT%H:%M:%SZ)"
fi
git -C "$ARCHIVE" rev-parse -q --verify HEAD >/dev/null 2>&1 || exit 0
git -C "$ARCHIVE" remote get-url origin >/dev/null 2>&1 || exit 0

counter=$STATE_DIR/jsonl-push-failures
if git -C "$ARCHIVE" push -q origin HEAD >/dev/null 2>"$work/push-error" </dev/null; then
  rm -f "$counter"
  exit 0
fi
failures=$(cat "$counter" 2>/dev/null || echo 0)
case "$failures" in '' | *[!0-9]*) failures=0 ;; esac
failures=$((failures + 1))
echo "$failures" >"$counter"
if [ "$failures" -eq "$MAX_PUSH_FAILURES" ]; then
  tell "jsonl export: $failures pushes in a row failed" "$ARCHIVE: $(tail -n 3 "$work/push-error")"
fi
echo "push failed ($failures in a row)" >&2
exit 1
