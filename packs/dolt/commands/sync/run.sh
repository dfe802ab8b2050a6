#!/bin/sh
# gc dolt sync [--dry-run] [--force] [--gc] [--db NAME]
#   --force  passes --force to the push; --gc  collects garbage first; --db  this database only
# Our own server is stopped for the pushes and started again afterwards, whatever happens in between.
set -eu
. "$(dirname "$0")/../../assets/scripts/runtime.sh"

dry=''
force=''
collect=''
only=''
while [ $# -gt 0 ]; do
  case "$1" in
    --dry-run) dry=1 ;;
    --force) force=1 ;;
    --gc) collect=1 ;;
    --db)
      [ $# -ge 2 ] || fail "--db needs a name"
      only=$2
      shift
      ;;
    --db=*) only=${1#--db=} ;;
    *) fail "unknown argument \"$1\"; usage: gc dolt sync [--dry-run] [--force] [--gc] [--db NAME]" ;;
  esac
  shift
done

if ! command -v dolt >/dev/null 2>&1; then
  echo "dolt is not on the PATH: nothing to push"
  exit 0
fi
if is_remote; then
  echo "the data is at $(dolt_host): pushing is that server's business"
  exit 0
fi
if [ -n "$only" ]; then
  is_plain_name "$only" || fail "\"$only\" is not a database name"
  [ -d "$DOLT_DATA_DIR/$only/.dolt" ] || fail "no database \"$only\" in $DOLT_DATA_DIR; see: gc dolt list"
fi

# Remotes are read from the files: asking dolt would need the lock that a running server holds.
with_remote=''
for name in $(local_databases); do
  if [ -n "$only" ] && [ "$name" != "$only" ]; then continue; fi
  if tr -d '\n' 2>/dev/null <"$DOLT_DATA_DIR/$name/.dolt/repo_state.json" |
    grep -q '"remotes"[[:space:]]*:[[:space:]]*{[[:space:]]*"'; then
    with_remote="$with_remote $name"
  else
    echo "$name: no remote"
  fi
done
[ -n "$with_remote" ] || exit 0
if [ -n "$dry" ]; then
  for name in $with_remote; do echo "$name: would be pushed"; done
  exit 0
fi

restart() {
  lifecycle start || echo "gc dolt: the server did not come back; try: gc dolt start" >&2
}
if dolt_pid >/dev/null; then
  trap restart EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  lifecycle stop
elif server_answers; then
  fail "a server that is not this city's own answers on port $(dolt_port)"
fi

push() (
  cd "$DOLT_DATA_DIR/$1"
  remote=$(dolt remote </dev/null | head -n 1)
  branch=$(dolt branch --show-current </dev/null)
  dolt push ${force:+--force} "$remote" "$branch" </dev/null
)

failed=0
for name in $with_remote; do
  if [ -n "$collect" ]; then
    (cd "$DOLT_DATA_DIR/$name" && dolt gc </dev/null) || echo "$name: garbage could not be collected" >&2
  fi
  if push "$name"; then
    echo "$name: pushed"
  else
    echo "$name: not pushed" >&2
    failed=1
  fi
done
exit "$failed"
