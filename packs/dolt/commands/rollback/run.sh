#!/bin/sh
# gc dolt rollback                             lists them, newest first
# gc dolt rollback PATH-OR-TIMESTAMP           says what would happen
# gc dolt rollback PATH-OR-TIMESTAMP --force   does it; what is there now is kept beside it
set -eu
. "$(dirname "$0")/../../assets/scripts/runtime.sh"

wanted=''
force=''
while [ $# -gt 0 ]; do
  case "$1" in
    --force) force=1 ;;
    -*) fail "unknown argument \"$1\"; usage: gc dolt rollback [PATH-OR-TIMESTAMP] [--force]" ;;
    *)
      [ -z "$wanted" ] || fail "one backup at a time"
      wanted=$1
      ;;
  esac
  shift
done

backups() {
  find "$GC_CITY_PATH" "$GC_CITY_PATH/.beads" "$GC_PACK_STATE_DIR" -maxdepth 1 -type d -name 'migration-backup-*' 2>/dev/null |
    sort -u -r
}

if [ -z "$wanted" ]; then
  found=$(backups)
  if [ -z "$found" ]; then
    echo "no migration backups"
    exit 0
  fi
  printf '%s\n' "$found"
  echo "put one back: gc dolt rollback <path or timestamp> --force"
  exit 0
fi

backup=''
if [ -d "$wanted" ]; then
  case "$(basename "$wanted")" in
    migration-backup-*) backup=$(cd "$wanted" && pwd) ;;
    *) fail "$wanted is not a migration backup (migration-backup-*)" ;;
  esac
else
  backup=$(backups | grep -F -- "migration-backup-$wanted" | head -n 2 || true)
  [ -n "$backup" ] || fail "no migration backup \"$wanted\"; list them: gc dolt rollback"
  [ "$(printf '%s\n' "$backup" | wc -l)" -eq 1 ] || fail "\"$wanted\" fits more than one backup; give the whole path"
fi
if [ -d "$backup/dolt" ]; then source=$backup/dolt; else source=$backup; fi
set -- "$source"/*/.dolt
[ -d "$1" ] || fail "$backup holds no database"

kept=$DOLT_DATA_DIR.before-rollback-$(date -u +%Y%m%dT%H%M%SZ)
if [ -z "$force" ]; then
  echo "would put back   $source"
  echo "in place of      $DOLT_DATA_DIR"
  echo "and keep that as $kept"
  echo "do it: gc dolt rollback $wanted --force"
  exit 0
fi
if is_remote; then fail "the server at $(dolt_host) is not this city's own"; fi

was_running=''
if dolt_pid >/dev/null; then
  was_running=1
  lifecycle stop
elif server_answers; then
  fail "a server that is not this city's own answers on port $(dolt_port)"
fi
# The copy is whole before anything moves.
fresh=$DOLT_DATA_DIR.rollback-$$
mkdir -p "$(dirname "$DOLT_DATA_DIR")"
cp -R "$source" "$fresh" || {
  rm -rf "$fresh"
  fail "could not copy $source"
}
if [ -d "$DOLT_DATA_DIR" ]; then mv "$DOLT_DATA_DIR" "$kept"; fi
mv "$fresh" "$DOLT_DATA_DIR"
echo "put back $source; what was there is $kept"
if [ -n "$was_running" ]; then lifecycle start; fi
