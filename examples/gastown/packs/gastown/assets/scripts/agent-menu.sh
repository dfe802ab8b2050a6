#!/bin/sh
# A menu of every agent's session on this tmux server. Run by a key binding.
#
#   agent-menu.sh CLIENT
set -u
client=${1:-}
command -v tmux >/dev/null 2>&1 || exit 0

set --
number=1
for name in $(tmux list-sessions -F '#{session_name}' 2>/dev/null | sort); do
  tmux show-environment -t "=$name" GC_AGENT >/dev/null 2>&1 || continue
  key=""
  [ "$number" -gt 9 ] || key=$number
  set -- "$@" "$name" "$key" "switch-client -t '=$name'"
  number=$((number + 1))
done
[ $# -gt 0 ] || exit 0
if [ -n "$client" ]; then tmux display-menu -c "$client" -T agents "$@"; else tmux display-menu -T agents "$@"; fi
exit 0
