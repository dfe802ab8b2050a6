#!/usr/bin/env bash
# Plays a polecat: one bead, one branch, one hand-over, then the end. Needs git and bd.
#
# GC_AGENT                who claims            GC_TEMPLATE   what work is routed to (else GC_AGENT without -N)
# GC_DIR                  the rig (else here)   GC_WT_DIR     where worktrees go (else gc-wt in the temporary folder)
# GC_POLECAT_WORK_DELAY   seconds of work (30)
set -u

LOOK_TIMES=30   # attempts to find work
LOOK_EVERY=1    # seconds between them
me=${GC_AGENT:?mock-polecat: GC_AGENT is not set}
rig=${GC_DIR:-$PWD}
delay=${GC_POLECAT_WORK_DELAY:-30}

say() { printf '%s  %s\n' "$me" "$*"; }

# Our own session goes away with us, whatever the terminal would do with a dead pane. Nobody else's does.
leave() {
  if [ -n "${TMUX:-}" ] && [ -n "${GC_SESSION_NAME:-}" ] &&
    [ "$(tmux display-message -p -t "${TMUX_PANE:-}" '#{session_name}' 2>/dev/null)" = "$GC_SESSION_NAME" ]; then
    tmux kill-session -t "=$GC_SESSION_NAME" 2>/dev/null
  fi
  exit "$1"
}

mail_all() { { gc mail send --all "$1" >/dev/null 2>&1; } || true; }

route=${GC_TEMPLATE:-}
if [ -z "$route" ]; then
  route=$me
  if [[ $route =~ ^(.+)-[0-9]+$ ]]; then route=${BASH_REMATCH[1]}; fi
fi
# rig/polecat hands over to rig/refinery, rig/x.polecat to rig/x.refinery.
case "$route" in
  *polecat) refinery=${route%polecat}refinery ;;
  */*) refinery=${route%/*}/refinery ;;
  *) refinery=refinery ;;
esac

# Ids of the beads in a JSON answer: one object per bead, its keys four spaces deep.
ids() { sed -n 's/^    "id": "\([^"]*\)".*/\1/p'; }

bead=""
find_work() {
  bead=$(bd list --status in_progress --assignee "$me" --limit 1 --json 2>/dev/null | ids | head -n 1)
  if [ -n "$bead" ]; then
    say "going on with $bead"
    return 0
  fi
  local candidate
  for candidate in $(bd ready --metadata-field "gc.routed_to=$route" --unassigned --limit 5 --json 2>/dev/null | ids); do
    if bd update "$candidate" --claim --actor "$me" >/dev/null 2>&1; then
      bead=$candidate
      say "claimed $bead"
      return 0
    fi
  done
  return 1
}

say "looking for work routed to $route"
for ((attempt = 1; attempt <= LOOK_TIMES; attempt++)); do
  if find_work; then break; fi
  sleep "$LOOK_EVERY"
done
if [ -z "$bead" ]; then
  say "no work"
  leave 0
fi
mail_all "$me works on $bead"

cd "$rig" || { say "no folder $rig"; leave 1; }
branch="polecat/$bead"
# One place per repository and bead: a successor finds what its predecessor left.
short="$(basename "$rig")-$(printf '%s' "$rig" | git hash-object --stdin | cut -c1-6)-$bead"
worktree="${GC_WT_DIR:-${TMPDIR:-/tmp}/gc-wt}/$short"

set_up_worktree() {
  if [ -e "$worktree/.git" ]; then return 0; fi
  mkdir -p "$(dirname "$worktree")" || return 1
  if ! git show-ref --verify --quiet "refs/heads/$branch"; then
    git worktree add --quiet -b "$branch" "$worktree" HEAD
  elif git worktree list --porcelain | grep -Fqx "worktree $worktree"; then
    git worktree add --quiet --force "$worktree" "$branch" # registered, and deleted by hand
  else
    git worktree add --quiet "$worktree" "$branch"
  fi
}
if ! set_up_worktree; then
  say "could not make the worktree $worktree; $bead stays mine for the next try"
  leave 1
fi
say "working on $branch for ${delay}s"
sleep "$delay"

identity=()
if ! git config user.email >/dev/null; then identity=(-c "user.name=$me" -c "user.email=polecat@localhost"); fi
commit_work() {
  cd "$worktree" || return 1
  mkdir -p work && printf '%s by %s\n' "$bead" "$me" >"work/$bead.txt" && git add "work/$bead.txt" || return 1
  if git diff --cached --quiet; then return 0; fi # a predecessor committed it
  git ${identity[@]+"${identity[@]}"} commit --quiet -m "$bead: work of $me"
}
if ! commit_work; then
  say "could not commit; the work is in $worktree"
  leave 1
fi
if git remote get-url origin >/dev/null 2>&1; then
  git push --quiet origin "$branch" || say "could not push $branch; it is here"
fi
# The branch has to be free before the refinery deletes it.
cd "$rig" && git worktree remove "$worktree" || say "left $worktree behind"

if ! bd update "$bead" --metadata "{\"branch\":\"$branch\"}" --assignee "$refinery" >/dev/null; then
  say "could not hand $bead over; it stays mine for the next try"
  leave 1
fi
say "handed $bead with $branch to $refinery"
mail_all "$bead is done on $branch"
leave 0
