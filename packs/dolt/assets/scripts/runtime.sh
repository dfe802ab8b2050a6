# shellcheck shell=sh
# Where the city's Dolt server keeps its things, and how to ask it. Sourced by the commands of this pack, never run.

fail() {
  echo "gc dolt: $*" >&2
  exit 1
}

[ -n "${GC_CITY_PATH:-}" ] || fail "GC_CITY_PATH is not set; run this as \"gc dolt <command>\" in a city"

GC_CITY_RUNTIME_DIR=${GC_CITY_RUNTIME_DIR:-$GC_CITY_PATH/.gc/runtime}
if [ -z "${GC_PACK_STATE_DIR:-}" ]; then
  if [ -d "$GC_CITY_PATH/.gc/dolt-data" ]; then
    GC_PACK_STATE_DIR=$GC_CITY_PATH/.gc
  else
    GC_PACK_STATE_DIR=$GC_CITY_RUNTIME_DIR/packs/dolt
  fi
fi
export GC_CITY_RUNTIME_DIR GC_PACK_STATE_DIR

DOLT_DATA_DIR=$GC_CITY_PATH/.beads/dolt
if [ ! -d "$DOLT_DATA_DIR" ] && [ -d "$GC_CITY_PATH/.gc/dolt-data" ]; then
  DOLT_DATA_DIR=$GC_CITY_PATH/.gc/dolt-data
fi
DOLT_LOG_FILE=$GC_PACK_STATE_DIR/dolt.log
DOLT_PID_FILE=$GC_PACK_STATE_DIR/dolt.pid
DOLT_STATE_FILE=$GC_PACK_STATE_DIR/dolt-provider-state.json
BEADS_SCRIPT=$GC_CITY_PATH/.gc/system/packs/bd/assets/scripts/gc-beads-bd.sh
# Seconds for one question to the server; a hanging server must not hang its command.
DOLT_CALL_TIMEOUT=5

only_digits() {
  case "$1" in
    '' | *[!0-9]*) return 1 ;;
    *) return 0 ;;
  esac
}

# Environment, then the port file, then the recorded state, then the default.
dolt_port() {
  port=${GC_DOLT_PORT:-}
  if [ -z "$port" ] && [ -r "$GC_CITY_PATH/.beads/dolt-server.port" ]; then
    port=$(head -n 1 "$GC_CITY_PATH/.beads/dolt-server.port" | tr -d '[:space:]')
  fi
  if [ -z "$port" ] && [ -r "$DOLT_STATE_FILE" ]; then
    port=$(sed -n 's/.*"port"[[:space:]]*:[[:space:]]*\([0-9][0-9]*\).*/\1/p' "$DOLT_STATE_FILE" | head -n 1)
  fi
  only_digits "$port" || port=3307
  echo "$port"
}

dolt_host() {
  echo "${GC_DOLT_HOST:-127.0.0.1}"
}

is_remote() {
  case "$(dolt_host)" in
    localhost | 127.0.0.1 | ::1) return 1 ;;
    *) return 0 ;;
  esac
}

# Prints the pid of our server, only when that process is a Dolt server on our data.
dolt_pid() {
  [ -r "$DOLT_PID_FILE" ] || return 1
  pid=$(head -n 1 "$DOLT_PID_FILE" | tr -d '[:space:]')
  only_digits "$pid" || return 1
  command_line=$(ps -o args= -p "$pid" 2>/dev/null) || return 1
  case "$command_line" in
    *dolt*sql-server*"$DOLT_DATA_DIR"*) echo "$pid" ;;
    *) return 1 ;;
  esac
}

bounded() {
  if command -v timeout >/dev/null 2>&1; then
    timeout "$DOLT_CALL_TIMEOUT" "$@"
  elif command -v gtimeout >/dev/null 2>&1; then
    gtimeout "$DOLT_CALL_TIMEOUT" "$@"
  else
    "$@" &
    asked=$!
    # Without the redirections a caller that reads our output would wait for the sleep.
    (sleep "$DOLT_CALL_TIMEOUT" && kill "$asked") >/dev/null 2>&1 &
    watch=$!
    code=0
    wait "$asked" || code=$?
    kill "$watch" 2>/dev/null || true
    return "$code"
  fi
}

need_dolt() {
  command -v dolt >/dev/null 2>&1 ||
    fail "dolt is not on the PATH; install it: https://docs.dolthub.com/introduction/installation"
}

# One SQL text to the running server; CSV with a header line on stdout. Optional second argument: the database.
server_sql() {
  if [ -n "${2:-}" ]; then set -- "$1" --use-db "$2"; else set -- "$1"; fi
  text=$1
  shift
  DOLT_CLI_PASSWORD=${GC_DOLT_PASSWORD:-} bounded dolt --host "$(dolt_host)" --port "$(dolt_port)" \
    --user "${GC_DOLT_USER:-root}" --no-tls "$@" sql -q "$text" -r csv </dev/null
}

server_answers() {
  command -v dolt >/dev/null 2>&1 && server_sql 'SELECT 1' >/dev/null 2>&1
}

# Names that can go into SQL between backquotes, into a path, and into a line of output.
is_plain_name() {
  case "$1" in
    '' | -* | .* | *[!A-Za-z0-9_.-]*) return 1 ;;
    *) return 0 ;;
  esac
}

# Databases that lie in the data folder, one a line.
local_databases() {
  for entry in "$DOLT_DATA_DIR"/*/.dolt; do
    [ -d "$entry" ] || continue
    name=$(basename "$(dirname "$entry")")
    if is_plain_name "$name"; then echo "$name"; fi
  done
}

lifecycle() {
  [ -x "$BEADS_SCRIPT" ] || fail "$BEADS_SCRIPT is missing; gc start writes it when [beads] provider is bd"
  "$BEADS_SCRIPT" "$@"
}

# The databases that the city and its rigs use, one a line. Returns 1 with the reason on stderr unless that is known for
# certain: what is removed on the strength of this list is gone.
used_databases() {
  command -v jq >/dev/null 2>&1 || {
    echo "jq is not on the PATH, so the list of rigs cannot be read" >&2
    return 1
  }
  rigs=$("${GC_BIN:-gc}" --city "$GC_CITY_PATH" rig list --json 2>/dev/null) || {
    echo "\"gc rig list --json\" failed" >&2
    return 1
  }
  paths=$(printf '%s' "$rigs" | jq -rs '
    if length == 1 and (.[0].rigs | type) == "array" and (.[0].rigs | length) > 0
      and all(.[0].rigs[]; .path | type == "string" and length > 0)
    then .[0].rigs[].path else error("no rigs") end' 2>/dev/null) || {
    echo "the answer of \"gc rig list --json\" is not a list of rigs" >&2
    return 1
  }
  # bd calls a database that has no other name "beads".
  echo beads
  printf '%s\n' "$GC_CITY_PATH" "$paths" | while IFS= read -r path; do
    if [ ! -d "$path" ]; then
      echo "the folder $path is not there" >&2
      exit 1
    fi
    [ -d "$path/.beads" ] || continue
    jq -rs 'if length == 1 then .[0].dolt_database // "beads" | if type == "string" then . else error("no name") end
      else error("no object") end' "$path/.beads/metadata.json" 2>/dev/null || {
      echo "$path/.beads/metadata.json cannot be read" >&2
      exit 1
    }
  done
}

# Databases that lie in the data folder and belong to nobody, one a line; returns 1 when that cannot be told.
orphan_databases() {
  used=$(used_databases) || return 1
  local_databases | while IFS= read -r name; do
    printf '%s\n' "$used" | grep -qxF -- "$name" || echo "$name"
  done
}
