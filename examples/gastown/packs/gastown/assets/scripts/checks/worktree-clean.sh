#!/bin/sh
# Passes when nothing in a worktree is uncommitted.
#
#   worktree-clean.sh [DIR]
set -eu
dir=${1:-.}
left=$(git -C "$dir" status --porcelain)
if [ -n "$left" ]; then
  echo "uncommitted:"
  printf '%s\n' "$left"
  exit 1
fi
echo "clean"
