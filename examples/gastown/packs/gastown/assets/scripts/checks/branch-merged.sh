#!/bin/sh
# Passes when a branch is part of another one.
#
#   branch-merged.sh BRANCH [TARGET]                TARGET: the branch that is checked out here, unless named
set -eu
[ $# -ge 1 ] || { echo "usage: branch-merged.sh BRANCH [TARGET]" >&2; exit 2; }
target=${2:-HEAD}
if git merge-base --is-ancestor "$1" "$target"; then
  echo "$1 is merged into $target"
else
  echo "$1 is not merged into $target"
  exit 1
fi
