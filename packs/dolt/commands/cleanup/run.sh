#!/bin/sh
# gc dolt cleanup [--force] [--max N]
# Without --force it only lists. It removes nothing when the databases of the rigs are not known for certain, or when
# there are more orphans than N (default 50): then the list of rigs is likelier to be wrong than the data.
set -eu
. "$(dirname "$0")/../../assets/scripts/runtime.sh"

force=''
max=50
while [ $# -gt 0 ]; do
  case "$1" in
    --force) force=1 ;;
    --max)
      [ $# -ge 2 ] || fail "--max needs a number"
      max=$2
      shift
      ;;
    --max=*) max=${1#--max=} ;;
    *) fail "unknown argument \"$1\"; usage: gc dolt cleanup [--force] [--max N]" ;;
  esac
  shift
done
only_digits "$max" || fail "\"$max\" is not a number"
if is_remote; then fail "the data is at $(dolt_host): nothing is removed there from here"; fi

orphans=$(orphan_databases) || fail "nothing is removed"
count=0
for name in $orphans; do count=$((count + 1)); done
if [ "$count" -eq 0 ]; then
  echo "no orphan databases"
  exit 0
fi
for name in $orphans; do
  echo "orphan: $name ($(du -sk "$DOLT_DATA_DIR/$name" 2>/dev/null | cut -f 1) KB)"
done
if [ "$count" -gt "$max" ]; then
  fail "$count orphans are more than $max: nothing is removed. Look at the list; if it is right: --max $count"
fi
if [ -z "$force" ]; then
  echo "$count orphan database(s). Remove them: gc dolt cleanup --force"
  exit 0
fi

failed=0
if server_answers; then
  dolt_pid >/dev/null || fail "the server on port $(dolt_port) is not this city's own: nothing is removed"
  for name in $orphans; do
    if server_sql "DROP DATABASE \`$name\`" >/dev/null; then echo "removed $name"; else failed=1; fi
  done
else
  if pid=$(dolt_pid); then fail "the server (pid $pid) runs but does not answer: nothing is removed"; fi
  for name in $orphans; do
    # A server that lost its pid file may still have the files open.
    if command -v lsof >/dev/null 2>&1 && [ -n "$(lsof -t +D "$DOLT_DATA_DIR/$name" 2>/dev/null)" ]; then
      echo "gc dolt: $name is open in another program: left alone" >&2
      failed=1
      continue
    fi
    if rm -rf "${DOLT_DATA_DIR:?}/$name"; then echo "removed $name"; else failed=1; fi
  done
fi
exit "$failed"
