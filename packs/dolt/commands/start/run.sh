#!/bin/sh
# Exit: 0 runs now or is not needed here, 1 could not be started.
set -eu
. "$(dirname "$0")/../../assets/scripts/runtime.sh"

code=0
lifecycle start || code=$?
case "$code" in
  0) echo "dolt server answers at $(dolt_host):$(dolt_port)" ;;
  2)
    echo "no server of this city's own is needed"
    code=0
    ;;
esac
exit "$code"
