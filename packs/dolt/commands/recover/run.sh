#!/bin/sh
# Refuses servers that are not this city's own.
set -eu
. "$(dirname "$0")/../../assets/scripts/runtime.sh"

if is_remote; then
  fail "the server at $(dolt_host):$(dolt_port) does not belong to this city: repair it where it runs"
fi
need_dolt
if server_answers; then
  state=$(server_sql 'SELECT @@global.read_only AS r' | tail -n 1 | tr -d '[:space:]')
  if [ "$state" != 1 ]; then
    echo "dolt server is healthy: nothing to do"
    exit 0
  fi
  echo "dolt server is read-only: restarting it"
else
  echo "dolt server does not answer: restarting it"
fi
lifecycle recover
echo "dolt server answers at $(dolt_host):$(dolt_port)"
