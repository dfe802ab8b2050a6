#!/bin/sh
# gc dolt logs [-n LINES] [-f]
set -eu
. "$(dirname "$0")/../../assets/scripts/runtime.sh"

lines=50
follow=''
while [ $# -gt 0 ]; do
  case "$1" in
    -n | --lines)
      [ $# -ge 2 ] || fail "$1 needs a number"
      lines=$2
      shift
      ;;
    --lines=*) lines=${1#--lines=} ;;
    -f | --follow) follow=-f ;;
    *) fail "unknown argument \"$1\"; usage: gc dolt logs [-n LINES] [-f]" ;;
  esac
  shift
done
only_digits "$lines" || fail "\"$lines\" is not a number of lines"
[ -f "$DOLT_LOG_FILE" ] || fail "no log yet: $DOLT_LOG_FILE"
if [ -n "$follow" ]; then exec tail -n "$lines" -f "$DOLT_LOG_FILE"; fi
exec tail -n "$lines" "$DOLT_LOG_FILE"
