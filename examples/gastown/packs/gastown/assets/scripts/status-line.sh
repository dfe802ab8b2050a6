#!/bin/sh
# Right part of an agent's status line: "hook" when work hangs on its hook, "mail" when mail waits. Prints nothing when
# there is nothing to say. tmux runs it for sessions that somebody looks at.
#
#   status-line.sh SESSION AGENT
set -u
session=${1:-}
agent=${2:-}
if [ -z "$agent" ] || ! command -v tmux >/dev/null 2>&1; then exit 0; fi

of_session() { tmux show-environment -t "=$session" "$1" 2>/dev/null | sed -n "s/^$1=//p"; }
gc=$(of_session GC_BIN)
gc=${gc:-gc}
GC_CITY=$(of_session GC_CITY)
[ -z "$GC_CITY" ] || export GC_CITY
command -v "$gc" >/dev/null 2>&1 || exit 0

line=""
if "$gc" hook "$agent" >/dev/null 2>&1; then line="hook "; fi
if "$gc" mail check "$agent" >/dev/null 2>&1; then line="${line}mail "; fi
printf '%s' "$line"
