#!/bin/sh
# Gives an agent a git worktree of its own. Safe to run before every start.
#
#   worktree-setup.sh RIG_ROOT TARGET_DIR AGENT [--sync]
#   worktree-setup.sh RIG_ROOT AGENT CITY [--sync]         older form: the target is CITY/.gc/worktrees/RIG/AGENT
#
# Files that were put into the target before it was a worktree (hooks, settings, skills) stay there; files that the
# repository tracks win over them. --sync brings an existing worktree up to date when the repository has an origin.
set -eu
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE

fail() {
  echo "worktree-setup: $*" >&2
  exit 1
}

absolute() {
  case "$1" in
    /*) printf '%s\n' "$1" ;;
    *) printf '%s/%s\n' "$PWD" "$1" ;;
  esac
}

# The physical path of a folder: git prints paths without symbolic links.
real() { (cd "$1" 2>/dev/null && pwd -P); }

[ $# -ge 3 ] || fail "usage: worktree-setup.sh RIG_ROOT TARGET_DIR AGENT [--sync]"
rig=$(absolute "${1%/}")
case "$3" in
  */* | . | ..)
    agent=$2
    target="$(absolute "${3%/}")/.gc/worktrees/$(basename "$rig")/$agent"
    ;;
  *)
    agent=$3
    target=$(absolute "${2%/}")
    ;;
esac
shift 3
sync=0
for option in "$@"; do
  case "$option" in
    --sync) sync=1 ;;
    *) fail "unknown option $option" ;;
  esac
done

[ -d "$rig" ] || fail "no such folder: $rig"
rig=$(real "$rig")
cd "$rig"
common=$(git rev-parse --git-common-dir 2>/dev/null) || fail "$rig is not a git repository: run git init there and commit once"
common=$(real "$common")
git rev-parse --verify --quiet 'HEAD^{commit}' >/dev/null || fail "$rig has no commit yet: commit once, then start the agent again"
[ "$(real "$target" || true)" != "$rig" ] || fail "the target is the rig itself: $target"

parent=$(dirname "$target")
base=$(basename "$target")
branch="gc-$agent-$(printf '%s' "$target" | git hash-object --stdin | cut -c1-12)"

is_worktree() {
  [ -e "$target/.git" ] || return 1
  here=$(cd "$target" && real "$(git rev-parse --git-common-dir 2>/dev/null || echo /nowhere)") || return 1
  [ "$here" = "$common" ]
}

has_entries() { [ -d "$target" ] && [ -n "$(ls -A "$target")" ]; }

has_origin() { git remote get-url origin >/dev/null 2>&1; }

# What was registered and then deleted by hand needs --force; nothing else gets it.
is_registered() { git worktree list --porcelain | grep -Fqx "worktree $(real "$parent")/$base"; }

add_once() {
  set -- --quiet
  if is_registered; then set -- "$@" --force; fi
  if git show-ref --verify --quiet "refs/heads/$branch"; then
    git worktree add "$@" "$target" "$branch"
  else
    git worktree add "$@" -b "$branch" "$target" HEAD
  fi
}

# git reads the worktrees of others while it adds one, and gives up on one that is being added: then it is asked again.
add_worktree() {
  attempt=1
  while ! said=$(add_once 2>&1); do
    case "$attempt:$said" in
      20:*) ;;
      *.git/worktrees/* | *"lock"* | *"File exists"*)
        attempt=$((attempt + 1))
        sleep "0.$(($$ % 8 + 1))" 2>/dev/null || sleep 1
        continue
        ;;
    esac
    printf '%s\n' "$said" >&2
    return 1
  done
}

# Moves what the stage holds into the worktree, except over something that is there already.
merge_back() {
  (cd "$1" && find . ! -type d) | while IFS= read -r file; do
    file=${file#./}
    if [ -e "$target/$file" ] || [ -L "$target/$file" ]; then continue; fi
    if (cd "$target" && git ls-files --error-unmatch -- ":(literal)$file" >/dev/null 2>&1); then continue; fi
    mkdir -p "$(dirname "$target/$file")" 2>/dev/null || continue # a tracked file stands where a folder is needed
    mv "$1/$file" "$target/$file"
  done
  rm -rf "$1"
}

# Adds our lines to the list of ignored files that stays outside of the repository. Written as a whole from one reading, so
# that agents that start together cannot write the block twice.
exclude_block() {
  marker='# gas city: files of agents (worktree-setup)'
  file="$common/info/exclude"
  mkdir -p "$common/info"
  before=""
  if [ -f "$file" ]; then before=$(cat "$file"); fi
  if printf '%s\n' "$before" | grep -Fqx "$marker"; then return 0; fi
  draft="$file.gc-$$"
  {
    [ -z "$before" ] || printf '%s\n' "$before"
    echo "$marker"
    printf '%s\n' .beads/redirect .beads/hooks/ .beads/formulas/ .runtime/ .logs/ worktrees/ __pycache__/ \
      .claude/ .codex/ .gemini/ .opencode/ .github/hooks/ .github/copilot-instructions.md state.json .gc/
  } >"$draft"
  mv "$draft" "$file"
}

write_redirect() {
  file="$target/.beads/redirect"
  if (cd "$target" && git ls-files --error-unmatch .beads/redirect >/dev/null 2>&1); then return 0; fi
  if [ -f "$file" ] && [ "$(cat "$file")" = "$rig/.beads" ]; then return 0; fi
  mkdir -p "$target/.beads"
  printf '%s\n' "$rig/.beads" >"$file"
}

bring_up_to_date() {
  has_origin || return 0
  cd "$target"
  git fetch --quiet origin || echo "worktree-setup: could not fetch from origin; going on with what is here" >&2
  if git rev-parse --verify --quiet '@{upstream}' >/dev/null 2>&1; then
    git merge --quiet --ff-only '@{upstream}' || echo "worktree-setup: $base has commits of its own; not pulled" >&2
  fi
  cd "$rig"
}

mkdir -p "$parent"
exclude_block
if is_worktree; then
  if [ "$sync" = 1 ]; then bring_up_to_date; fi
else
  stage=""
  if has_entries; then
    [ ! -e "$target/.git" ] || fail "$target has a .git that is not of $rig: move the folder away"
    stage=$(mktemp -d "$parent/.$base.stage.XXXXXX")
    mv "$target" "$stage/files"
  fi
  if ! add_worktree; then
    if [ -n "$stage" ]; then
      rmdir "$target" 2>/dev/null || true
      mv "$stage/files" "$target"
      rmdir "$stage"
    fi
    fail "git could not add the worktree $target"
  fi
  if [ -n "$stage" ]; then
    merge_back "$stage/files"
    rmdir "$stage"
  fi
fi
# A run that was killed in between left its stage behind.
for stage in "$parent/.$base".stage.*; do
  if [ -d "$stage/files" ]; then merge_back "$stage/files"; fi
  if [ -d "$stage" ]; then rmdir "$stage"; fi
done
write_redirect
