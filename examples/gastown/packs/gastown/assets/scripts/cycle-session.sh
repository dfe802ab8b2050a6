#!/bin/sh
# Takes a client to the neighbour of its session: polecats go round among the polecats of their rig, the other agents of
# a rig among themselves, the agents of the city likewise. Run by a key binding.
#
#   cycle-session.sh next|prev SESSION CLIENT
set -u
direction=${1:-next}
current=${2:-}
client=${3:-}
if [ -z "$current" ] || ! command -v tmux >/dev/null 2>&1; then exit 0; fi

group_of() {
  case "$1" in
    *--polecat | *--polecat-*) echo "${1%%--polecat*}--polecat" ;;
    *--*--*) echo "${1%--*}" ;;
    *--*) echo "${1%%--*}" ;;
    dog | dog-*) echo dog ;;
    *) echo city ;;
  esac
}
group=$(group_of "$current")

target=""
first=""
last=""
previous=""
take_next=no
for name in $(tmux list-sessions -F '#{session_name}' 2>/dev/null | sort); do
  [ "$(group_of "$name")" = "$group" ] || continue
  tmux show-environment -t "=$name" GC_AGENT >/dev/null 2>&1 || continue
  [ -n "$first" ] || first=$name
  if [ "$take_next" = yes ]; then
    target=$name
    take_next=no
  fi
  if [ "$name" = "$current" ]; then
    if [ "$direction" = prev ]; then target=$previous; else take_next=yes; fi
  fi
  previous=$name
  last=$name
done
if [ -z "$target" ]; then
  if [ "$direction" = prev ]; then target=$last; else target=$first; fi
fi
if [ -n "$target" ] && [ "$target" != "$current" ]; then
  if [ -n "$client" ]; then tmux switch-client -c "$client" -t "=$target"; else tmux switch-client -t "=$target"; fi
fi
exit 0
