#!/bin/sh
# gc dolt sql [arguments of "dolt sql"], such as -q 'SHOW DATABASES'
set -eu
. "$(dirname "$0")/../../assets/scripts/runtime.sh"

need_dolt
if server_answers; then
  DOLT_CLI_PASSWORD=${GC_DOLT_PASSWORD:-}
  export DOLT_CLI_PASSWORD
  exec dolt --host "$(dolt_host)" --port "$(dolt_port)" --user "${GC_DOLT_USER:-root}" --no-tls sql "$@"
fi
if is_remote; then fail "the server at $(dolt_host):$(dolt_port) does not answer"; fi
if pid=$(dolt_pid); then fail "the server (pid $pid) runs but does not answer; two programs on one data folder lose data. Try: gc dolt recover"; fi
[ -d "$DOLT_DATA_DIR" ] || fail "no server answers and there is no data at $DOLT_DATA_DIR"
echo "no server answers: working on $DOLT_DATA_DIR directly" >&2
exec dolt --data-dir "$DOLT_DATA_DIR" sql "$@"
