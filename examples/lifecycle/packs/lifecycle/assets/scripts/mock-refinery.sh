#!/usr/bin/env bash
# Plays a refinery: merges the branches of the beads that are assigned to it, closes the beads, deletes the branches.
# Needs git and bd. Ends when it is asked to, by a signal or by a drain of its session.
#
# GC_ALIAS, GC_AGENT   who it is              GC_DIR   the rig (else here)
# GC_REFINERY_POLL     seconds between two looks (3)
set -u

SLOW_EVERY=10   # quiet looks between two questions that cost more: is there news at the origin, should the session end
me=${GC_ALIAS:-${GC_AGENT:?mock-refinery: neither GC_ALIAS nor GC_AGENT is set}}
rig=${GC_DIR:-$PWD}
poll=${GC_REFINERY_POLL:-3}

say() { printf '%s  %s\n' "$me" "$*"; }
mail_all() { { gc mail send --all "$1" >/dev/null 2>&1; } || true; }

sleeper=""
leave() {
  say "ends"
  if [ -n "$sleeper" ]; then kill "$sleeper" 2>/dev/null; fi
  if [ -n "${TMUX:-}" ] && [ -n "${GC_SESSION_NAME:-}" ] &&
    [ "$(tmux display-message -p -t "${TMUX_PANE:-}" '#{session_name}' 2>/dev/null)" = "$GC_SESSION_NAME" ]; then
    tmux kill-session -t "=$GC_SESSION_NAME" 2>/dev/null
  fi
  exit "$1"
}
trap 'leave 0' TERM INT HUP

# A sleep that a signal can interrupt.
rest() {
  sleep "$1" &
  sleeper=$!
  wait "$sleeper"
  sleeper=""
}

# "bead branch" of each bead in a JSON answer that has a branch: one object per bead, its keys four spaces deep,
# those of its metadata six.
branches() {
  awk '
    /^  \{/ { id = ""; branch = ""; inside = 0 }
    /^    "id": "/ { split($0, part, "\""); id = part[4] }
    /^    "metadata": \{$/ { inside = 1 }
    /^    \}/ { inside = 0 }
    inside && /^      "branch": "/ { split($0, part, "\""); branch = part[4] }
    /^  \}/ && id != "" && branch != "" { print id, branch }
  '
}

cd "$rig" || { say "no folder $rig"; leave 1; }
identity=()
if ! git config user.email >/dev/null; then identity=(-c "user.name=$me" -c "user.email=refinery@localhost"); fi

refused="|" # what was tried already: it is tried again only when the branch or the target moved
merge_one() {
  local bead=$1 branch=$2 target tip try
  target=$(git symbolic-ref --quiet --short HEAD) || { say "the rig is on no branch"; return 1; }
  if ! tip=$(git rev-parse --verify --quiet "refs/heads/$branch"); then
    # Asked at the origin now and then only: the answer changes rarely.
    case "$refused" in
      *"|$bead:missing:"*) if [ $((quiet % SLOW_EVERY)) -ne 0 ]; then return 1; fi ;;
    esac
    git fetch --quiet origin "refs/heads/$branch:refs/heads/$branch" 2>/dev/null
    tip=$(git rev-parse --verify --quiet "refs/heads/$branch") || tip=missing
  fi
  try="$bead:$tip:$(git rev-parse HEAD)"
  case "$refused" in *"|$try|"*) return 1 ;; esac
  if [ "$tip" = missing ]; then
    refused="$refused$try|"
    say "$bead names the branch $branch, which is not here"
    return 1
  fi
  if git rev-parse --quiet --verify MERGE_HEAD >/dev/null; then
    say "somebody is merging in $rig; $bead waits"
    return 1
  fi
  if ! git ${identity[@]+"${identity[@]}"} merge --quiet --no-ff --no-edit -m "Merge $branch ($bead)" "$branch"; then
    git merge --abort 2>/dev/null
    refused="$refused$try|"
    say "cannot merge $branch into $target; $bead waits"
    mail_all "$bead: $branch does not merge into $target"
    return 1
  fi
  if git remote get-url origin >/dev/null 2>&1; then
    git push --quiet origin "$target" || say "could not push $target; the merge is here"
  fi
  bd close "$bead" --reason "merged $branch into $target" >/dev/null || { say "could not close $bead"; return 1; }
  git branch --quiet -d "$branch" || say "left the branch $branch"
  if git ls-remote --exit-code --heads origin "$branch" >/dev/null 2>&1; then git push --quiet origin --delete "$branch"; fi
  say "merged $branch into $target, closed $bead"
  mail_all "$bead is merged into $target"
}

say "looking for branches every ${poll}s"
quiet=0
while :; do
  merged=no
  while read -r bead branch <&3; do
    if [ -n "$bead" ] && merge_one "$bead" "$branch"; then merged=yes; fi
  done 3< <(bd list --assignee "$me" --status in_progress --json 2>/dev/null | branches)
  if [ "$merged" = yes ]; then quiet=0; else quiet=$((quiet + 1)); fi
  if [ $((quiet % SLOW_EVERY)) -eq 0 ] && [ "$quiet" -gt 0 ] && gc runtime drain-check >/dev/null 2>&1; then
    gc runtime drain-ack >/dev/null 2>&1
    leave 0
  fi
  rest "$poll"
done
