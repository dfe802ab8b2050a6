#!/bin/sh
# Removes local branches that the city made in its rigs and that are part of the default branch: gc/<anything>, and
# gc-<agent>-<12 hex digits> of agents' worktrees. Never one that is checked out, never one with commits of its own,
# nothing on a remote.
set -eu

command -v git >/dev/null 2>&1 || exit 0
command -v jq >/dev/null 2>&1 || exit 0
GC=${GC_BIN:-gc}
command -v "$GC" >/dev/null 2>&1 || exit 0
cd "${GC_CITY:-.}" 2>/dev/null || exit 0

default_branch() {
  name=$(git -C "$1" symbolic-ref -q --short refs/remotes/origin/HEAD 2>/dev/null || true)
  if [ -n "$name" ]; then
    echo "$name"
    return
  fi
  for name in main master; do
    if git -C "$1" show-ref -q --verify "refs/heads/$name"; then
      echo "$name"
      return
    fi
  done
}

"$GC" rig list --json 2>/dev/null |
  jq -r '(if type == "array" then . else .rigs // [] end)[] | .path // empty' 2>/dev/null |
  while IFS= read -r path; do
    git -C "$path" rev-parse --git-dir >/dev/null 2>&1 || continue
    base=$(default_branch "$path")
    [ -n "$base" ] || continue
    in_use=$(git -C "$path" worktree list --porcelain 2>/dev/null | sed -n 's|^branch refs/heads/||p')
    git -C "$path" for-each-ref --format='%(refname:short)' 'refs/heads/gc/' 'refs/heads/gc-*' |
      grep -E '^gc/|^gc-.+-[0-9a-f]{12}$' |
      while IFS= read -r branch; do
        if printf '%s\n' "$in_use" | grep -qxF -- "$branch"; then continue; fi
        commit=$(git -C "$path" rev-parse -q --verify "refs/heads/$branch") || continue
        git -C "$path" merge-base --is-ancestor "$commit" "$base" 2>/dev/null || continue
        # Only if it still is where it was looked at.
        git -C "$path" update-ref -d "refs/heads/$branch" "$commit" 2>/dev/null || continue
        echo "$path: removed $branch"
      done || true
  done || true
