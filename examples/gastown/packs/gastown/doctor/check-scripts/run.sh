#!/bin/sh
# Every helper script of the pack has to be executable: a lost bit breaks worktrees and themes.
set -u
scripts="${GC_PACK_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}/assets/scripts"
if [ ! -d "$scripts" ]; then
  echo "no folder $scripts"
  echo "the pack is incomplete: copy it again"
  exit 1
fi
total=0
broken=""
for script in "$scripts"/*.sh; do
  [ -e "$script" ] || continue
  total=$((total + 1))
  [ -x "$script" ] || broken="$broken
  chmod +x '$script'"
done
if [ -n "$broken" ]; then
  echo "scripts that are not executable:$broken"
  exit 1
fi
echo "$total scripts, all executable"
