#!/bin/sh
# Exit: 0 runs and answers, 1 runs but does not answer, 2 does not run (or is not needed).
set -eu
. "$(dirname "$0")/../../assets/scripts/runtime.sh"

code=0
lifecycle probe || code=$?
case "$code" in
  0) echo "dolt server answers at $(dolt_host):$(dolt_port)" ;;
  2) echo "dolt server does not run" ;;
  *) echo "dolt server runs but does not answer; see: gc dolt logs" ;;
esac
exit "$code"
