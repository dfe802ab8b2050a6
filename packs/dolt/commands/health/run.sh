#!/bin/sh
# gc dolt health [--json]
# With --json it always exits 0: the answer is in the data. Without, it exits 1 when the server does not answer.
# GC_HEALTH_SKIP_ZOMBIE_SCAN=1 leaves the process list alone.
set -eu
. "$(dirname "$0")/../../assets/scripts/runtime.sh"

# The backup order runs every 15 minutes.
BACKUP_STALE_SEC=1800

json=''
for argument in "$@"; do
  case "$argument" in
    --json) json=1 ;;
    *) fail "unknown argument \"$argument\"; usage: gc dolt health [--json]" ;;
  esac
done

now_ms() {
  stamp=$(date +%s%N)
  if only_digits "$stamp"; then echo $((stamp / 1000000)); else echo $(($(date +%s) * 1000)); fi
}

# Last line of a one-value answer, 0 when there is none.
number_of() {
  answer=$(server_sql "$1" "$2" 2>/dev/null | tail -n 1 | tr -d '[:space:]') || answer=0
  if only_digits "$answer"; then echo "$answer"; else echo 0; fi
}

short_age() {
  if [ "$1" -lt 60 ]; then
    echo "${1}s"
  elif [ "$1" -lt 3600 ]; then
    echo "$(($1 / 60))m"
  else
    echo "$(($1 / 3600))h"
  fi
}

# Servers on this city's data that are not the recorded one, and servers whose data is gone.
stray_servers() {
  [ "${GC_HEALTH_SKIP_ZOMBIE_SCAN:-}" != 1 ] || return 0
  ps -A -o pid= -o args= 2>/dev/null | grep 'dolt sql-server' | while read -r found_pid command_line; do
    if [ "$found_pid" = "$pid" ]; then continue; fi
    case "$command_line" in *" --data-dir "*) ;; *) continue ;; esac
    folder=${command_line#*" --data-dir "}
    folder=${folder%%" --"*}
    if [ "$folder" = "$DOLT_DATA_DIR" ] || [ ! -d "$folder" ]; then echo "$found_pid"; fi
  done
}

pid=$(dolt_pid) || pid=0
port=$(dolt_port)
reachable=false
latency_ms=0
before=$(now_ms)
if server_answers; then
  reachable=true
  latency_ms=$(($(now_ms) - before))
fi
running=false
if [ "$pid" -ne 0 ] || [ "$reachable" = true ]; then running=true; fi

databases=''
if [ "$reachable" = true ]; then
  for name in $(server_sql 'SHOW DATABASES' 2>/dev/null | tail -n +2 | tr -d '\r'); do
    is_plain_name "$name" || continue
    case "$name" in information_schema | mysql | performance_schema | sys | dolt) continue ;; esac
    commits=$(number_of 'SELECT COUNT(*) FROM dolt_log' "$name")
    beads=$(number_of "SELECT COUNT(*) FROM issues WHERE status <> 'closed'" "$name")
    databases="$databases$name $commits $beads
"
  done
fi

age=0
freshness=none
stale=false
newest=$(find "$GC_PACK_STATE_DIR/backups" -mindepth 1 -maxdepth 1 -type d -exec ls -td {} + 2>/dev/null | head -n 1 || true)
if [ -n "$newest" ]; then
  made=$(stat -c %Y "$newest" 2>/dev/null || stat -f %m "$newest" 2>/dev/null || echo 0)
  age=$(($(date +%s) - made))
  freshness=$(short_age "$age")
  if [ "$age" -gt "$BACKUP_STALE_SEC" ]; then stale=true; fi
fi

orphans=''
for name in $(orphan_databases 2>/dev/null || true); do
  orphans="$orphans$name $(du -sh "$DOLT_DATA_DIR/$name" 2>/dev/null | cut -f 1)
"
done
strays=$(stray_servers || true)
stray_count=0
for stray in $strays; do stray_count=$((stray_count + 1)); done

if [ -n "$json" ]; then
  database_rows=$(printf '%s' "$databases" | awk '{ printf "%s{\"name\":\"%s\",\"commits\":%s,\"open_beads\":%s}", sep, $1, $2, $3; sep = "," }')
  orphan_rows=$(printf '%s' "$orphans" | awk '{ printf "%s{\"name\":\"%s\",\"size\":\"%s\"}", sep, $1, $2; sep = "," }')
  stray_rows=$(printf '%s\n' "$strays" | awk 'NF { printf "%s%s", sep, $1; sep = "," }')
  printf '{"timestamp":"%s",' "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  printf '"server":{"running":%s,"reachable":%s,"pid":%s,"port":%s,"latency_ms":%s},' "$running" "$reachable" "$pid" "$port" "$latency_ms"
  printf '"databases":[%s],' "$database_rows"
  printf '"backups":{"dolt_freshness":"%s","dolt_age_sec":%s,"dolt_stale":%s},' "$freshness" "$age" "$stale"
  printf '"orphans":[%s],' "$orphan_rows"
  printf '"processes":{"zombie_count":%s,"zombie_pids":[%s]}}\n' "$stray_count" "$stray_rows"
  exit 0
fi

if [ "$reachable" = true ]; then
  echo "server      answers at $(dolt_host):$port in ${latency_ms} ms"
elif [ "$running" = true ]; then
  echo "server      pid $pid runs but does not answer; try: gc dolt recover"
else
  echo "server      does not run; try: gc dolt start"
fi
printf '%s' "$databases" | awk '{ printf "database    %-24s %s commits, %s open beads\n", $1, $2, $3 }'
if [ "$stale" = true ]; then
  echo "backup      $freshness old: too old"
else
  echo "backup      $freshness"
fi
printf '%s' "$orphans" | awk '{ printf "orphan      %-24s %s; see: gc dolt cleanup\n", $1, $2 }'
for stray in $strays; do echo "stray       dolt sql-server, pid $stray"; done
[ "$reachable" = true ]
