#!/bin/sh
# The life of the bead store of a city that keeps its beads with bd on a Dolt server.
#
#   gc-beads-bd.sh start | ensure-ready | stop | shutdown | init <dir> <prefix> | health | recover | probe
#
# Exit: 0 done, 1 failed, 2 not needed or not running.
# Reads GC_CITY_PATH, GC_CITY_RUNTIME_DIR, GC_PACK_STATE_DIR, GC_DOLT ("skip": no server at all), GC_DOLT_HOST (a server
# that is not ours), GC_DOLT_PORT, GC_DOLT_USER, GC_DOLT_PASSWORD, GC_DOLT_LOGLEVEL, GC_BIN.
set -eu

START_TIMEOUT=30 # seconds until a started server has to answer
STOP_TIMEOUT=15  # seconds until a stopped one has to be gone
QUERY_TIMEOUT=5  # seconds for one question
DEFAULT_PORT=3307

fail() {
  echo "gc-beads-bd: $*" >&2
  exit 1
}

[ -n "${GC_CITY_PATH:-}" ] || fail "GC_CITY_PATH is not set: gc sets it when it calls this script"

RUNTIME_DIR=${GC_CITY_RUNTIME_DIR:-$GC_CITY_PATH/.gc/runtime}
if [ -n "${GC_PACK_STATE_DIR:-}" ]; then
  STATE_DIR=$GC_PACK_STATE_DIR
elif [ -d "$GC_CITY_PATH/.gc/dolt-data" ]; then
  STATE_DIR=$GC_CITY_PATH/.gc
else
  STATE_DIR=$RUNTIME_DIR/packs/dolt
fi
DATA_DIR=$GC_CITY_PATH/.beads/dolt
if [ ! -d "$DATA_DIR" ] && [ -d "$GC_CITY_PATH/.gc/dolt-data" ]; then
  DATA_DIR=$GC_CITY_PATH/.gc/dolt-data
fi
PORT_FILE=$GC_CITY_PATH/.beads/dolt-server.port
STATE_FILE=$STATE_DIR/dolt-provider-state.json
PID_FILE=$STATE_DIR/dolt.pid
LOG_FILE=$STATE_DIR/dolt.log

is_remote() {
  case "${GC_DOLT_HOST:-}" in
    '' | localhost | 127.0.0.1 | ::1) return 1 ;;
    *) return 0 ;;
  esac
}

only_digits() {
  case "$1" in
    '' | *[!0-9]*) return 1 ;;
    *) return 0 ;;
  esac
}

server_port() {
  port=${GC_DOLT_PORT:-}
  if [ -z "$port" ] && [ -r "$PORT_FILE" ]; then port=$(head -n 1 "$PORT_FILE" | tr -d '[:space:]'); fi
  if [ -z "$port" ] && [ -r "$STATE_FILE" ]; then
    port=$(sed -n 's/.*"port"[[:space:]]*:[[:space:]]*\([0-9][0-9]*\).*/\1/p' "$STATE_FILE" | head -n 1)
  fi
  only_digits "$port" || port=$DEFAULT_PORT
  echo "$port"
}

# The pid of our server, only if that process is a Dolt server on our data: a number that was given to another program
# since is nobody's business here.
our_pid() {
  [ -r "$PID_FILE" ] || return 1
  pid=$(head -n 1 "$PID_FILE" | tr -d '[:space:]')
  only_digits "$pid" || return 1
  command_line=$(ps -o args= -p "$pid" 2>/dev/null) || return 1
  case "$command_line" in
    *dolt*sql-server*"$DATA_DIR"*) echo "$pid" ;;
    *) return 1 ;;
  esac
}

bounded() {
  if command -v timeout >/dev/null 2>&1; then
    timeout "$QUERY_TIMEOUT" "$@"
  elif command -v gtimeout >/dev/null 2>&1; then
    gtimeout "$QUERY_TIMEOUT" "$@"
  else
    "$@"
  fi
}

query() {
  DOLT_CLI_PASSWORD=${GC_DOLT_PASSWORD:-} bounded dolt --host "${GC_DOLT_HOST:-127.0.0.1}" --port "$(server_port)" \
    --user "${GC_DOLT_USER:-root}" --no-tls sql -q "$1" -r csv 2>&1 </dev/null
}

answers() {
  command -v dolt >/dev/null 2>&1 && query 'SELECT 1' >/dev/null 2>&1
}

# A server whose disk was full or away answers questions and refuses every change.
is_read_only() {
  said=$(query 'SELECT @@global.read_only AS r') || return 1
  [ "$(printf '%s\n' "$said" | tail -n 1 | tr -d '[:space:]')" = 1 ]
}

need_dolt() {
  command -v dolt >/dev/null 2>&1 ||
    fail "dolt is not on the PATH; install it (https://docs.dolthub.com/introduction/installation) or set [beads] provider = \"file\""
}

write_whole() { # file, text
  printf '%s\n' "$2" >"$1.new.$$"
  mv "$1.new.$$" "$1"
}

# One start or stop at a time. The descriptor closes with this shell; the server must not inherit it.
locked() {
  mkdir -p "$STATE_DIR"
  if command -v flock >/dev/null 2>&1; then
    exec 9>"$STATE_DIR/dolt.lock"
    flock -w "$START_TIMEOUT" 9 || fail "another start or stop of this server is still going on ($STATE_DIR/dolt.lock)"
  fi
  "$@"
}

start_server() {
  if answers; then
    if our_pid >/dev/null || [ -n "${GC_DOLT_HOST:-}" ]; then return 0; fi
    fail "another server answers on port $(server_port); set GC_DOLT_PORT or [dolt] port to one that is free, or GC_DOLT_HOST if it is meant"
  fi
  if pid=$(our_pid); then fail "the server (pid $pid) runs but does not answer; see $LOG_FILE, then: gc dolt recover"; fi
  need_dolt
  mkdir -p "$DATA_DIR" "$(dirname "$PORT_FILE")"
  port=$(server_port)
  launcher=nohup
  if command -v setsid >/dev/null 2>&1; then launcher=setsid; fi
  "$launcher" dolt sql-server --host 127.0.0.1 --port "$port" --data-dir "$DATA_DIR" \
    --loglevel "${GC_DOLT_LOGLEVEL:-warning}" >>"$LOG_FILE" 2>&1 </dev/null 9>&- &
  pid=$!
  write_whole "$PID_FILE" "$pid"
  waited=0
  until answers; do
    if ! kill -0 "$pid" 2>/dev/null; then
      rm -f "$PID_FILE"
      tail -n 10 "$LOG_FILE" >&2 || true
      fail "the server ended while it started; its last lines are above ($LOG_FILE)"
    fi
    if [ "$waited" -ge "$START_TIMEOUT" ]; then
      stop_server || true
      fail "the server did not answer within ${START_TIMEOUT}s; see $LOG_FILE"
    fi
    sleep 1
    waited=$((waited + 1))
  done
  write_whole "$PORT_FILE" "$port"
  write_whole "$STATE_FILE" "{\"running\": true, \"pid\": $pid, \"port\": $port}"
}

stop_server() {
  pid=$(our_pid) || {
    rm -f "$PID_FILE"
    return 2
  }
  kill -TERM "$pid" 2>/dev/null || true
  waited=0
  while our_pid >/dev/null; do
    if [ "$waited" -eq "$STOP_TIMEOUT" ]; then kill -KILL "$pid" 2>/dev/null || true; fi
    if [ "$waited" -gt $((STOP_TIMEOUT + 5)) ]; then fail "the server (pid $pid) does not end"; fi
    sleep 1
    waited=$((waited + 1))
  done
  rm -f "$PID_FILE" "$STATE_FILE"
}

recover_server() {
  if is_remote; then fail "the server at $GC_DOLT_HOST is not ours: it has to be repaired where it runs"; fi
  if answers && ! is_read_only; then return 0; fi
  stop_server || [ $? -eq 2 ]
  start_server
  if is_read_only; then fail "the server is read-only again after a restart; is the disk full? ($DATA_DIR)"; fi
}

init_store() { # dir, prefix
  dir=${1:-}
  prefix=${2:-}
  if [ -z "$dir" ] || [ -z "$prefix" ]; then fail "usage: gc-beads-bd.sh init <dir> <prefix>"; fi
  if [ -n "${GC_DOLT_HOST:-}" ] && [ -z "${GC_DOLT_PORT:-}" ]; then
    fail "init: GC_DOLT_HOST needs GC_DOLT_PORT beside it"
  fi
  command -v bd >/dev/null 2>&1 || fail "bd is not on the PATH; see gc doctor"
  [ -d "$dir" ] || fail "init: there is no folder $dir"
  if [ -f "$dir/.beads/metadata.json" ]; then return 0; fi
  cd "$dir"
  BEADS_DOLT_PASSWORD=${GC_DOLT_PASSWORD:-} BEADS_DOLT_AUTO_START=0 bd init --server \
    --server-host "${GC_DOLT_HOST:-127.0.0.1}" --server-port "$(server_port)" --server-user "${GC_DOLT_USER:-root}" \
    -p "$prefix" --skip-hooks </dev/null
}

if [ "${GC_DOLT:-}" = skip ]; then exit 2; fi

case "${1:-}" in
  start | ensure-ready)
    if is_remote; then
      [ "$1" = start ] && exit 2
      answers || fail "the server at $GC_DOLT_HOST:$(server_port) does not answer"
      exit 0
    fi
    locked start_server
    ;;
  stop | shutdown)
    if is_remote; then exit 2; fi
    [ -d "$STATE_DIR" ] || exit 2
    locked stop_server
    ;;
  init)
    shift
    init_store "$@"
    ;;
  health)
    need_dolt
    answers || fail "the server at ${GC_DOLT_HOST:-127.0.0.1}:$(server_port) does not answer"
    if is_read_only; then fail "the server is read-only; try: gc dolt recover"; fi
    ;;
  recover)
    need_dolt
    locked recover_server
    ;;
  probe)
    if answers; then exit 0; fi
    if ! is_remote && our_pid >/dev/null; then fail "the server runs but does not answer"; fi
    exit 2
    ;;
  *)
    fail "unknown operation \"${1:-}\"; one of: start ensure-ready stop shutdown init health recover probe"
    ;;
esac
