#!/bin/sh
# The town at a glance. Environment: GC_CITY_PATH, GC_CITY_NAME, GC_PACK_NAME, GC_PACK_DIR, GC_BIN.
set -u
gc="${GC_BIN:-gc}"
city="${GC_CITY_PATH:-}"
if [ -z "$city" ]; then
  echo "gc ${GC_PACK_NAME:-gastown} status: GC_CITY_PATH is not set; run it as a gc command inside a city" >&2
  exit 1
fi
[ $# -eq 0 ] || exec "$gc" --city "$city" status "$@"

echo "Town:  ${GC_CITY_NAME:-$(basename "$city")}  ($city)"
found=0
for rig in "$city"/.gc/worktrees/*/; do
  [ -d "$rig" ] || continue
  found=1
  polecats=0
  for worktree in "$rig"polecats/*/; do
    [ -d "$worktree" ] && polecats=$((polecats + 1))
  done
  echo "Rig:   $(basename "$rig")  $polecats polecat worktree(s)"
done
[ "$found" = 1 ] || echo "Rig:   no worktrees yet"
echo
exec "$gc" --city "$city" status
