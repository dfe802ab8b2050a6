#!/bin/sh
# Shows an agent's oldest unread mail over its session. Run by a click on the status line.
#
#   mail-popup.sh SESSION CLIENT
set -u
session=${1:-}
client=${2:-}
if [ -z "$session" ] || ! command -v tmux >/dev/null 2>&1; then exit 0; fi

of_session() { tmux show-environment -t "=$session" "$1" 2>/dev/null | sed -n "s/^$1=//p"; }
agent=$(of_session GC_AGENT)
[ -n "$agent" ] || exit 0
gc=$(of_session GC_BIN)
city=$(of_session GC_CITY)
quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }
command="GC_CITY=$(quoted "$city") GC_AGENT=$(quoted "$agent") GC_ALIAS=$(quoted "$agent") $(quoted "${gc:-gc}") mail peek || true; printf '\n(Enter closes this)'; read -r _"
set -- -E -w 80% -h 60% "$command"
if [ -n "$client" ]; then set -- -c "$client" "$@"; fi
tmux display-popup "$@" 2>/dev/null || true
exit 0
