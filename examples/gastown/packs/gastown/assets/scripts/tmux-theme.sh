#!/bin/sh
# Colours and status line of one agent's session, by its role. Does nothing where there is no tmux or no such session.
#
#   tmux-theme.sh SESSION AGENT [CONFIG_DIR]        GC_TMUX_SOCKET: name of the city's tmux server
set -u
session=${1:-}
agent=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
if [ -z "$session" ] || ! command -v tmux >/dev/null 2>&1; then exit 0; fi

mux() {
  if [ -n "${GC_TMUX_SOCKET:-}" ]; then tmux -L "$GC_TMUX_SOCKET" "$@"; else tmux "$@"; fi
}
mux has-session -t "=$session" 2>/dev/null || exit 0

# tmux runs what stands in #(): a path has to survive sh.
quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }

name=$(printf '%s' "$agent" | sed 's/--/\//g')
case "$name" in
  mayor) role=mayor icon=M colour=colour220 ;;
  deacon) role=deacon icon=D colour=colour141 ;;
  boot) role=boot icon=B colour=colour117 ;;
  dog | dog-*) role=dog icon=d colour=colour180 ;;
  */witness) role=witness icon=W colour=colour114 ;;
  */refinery) role=refinery icon=R colour=colour208 ;;
  */polecat | */polecat-*) role=polecat icon=P colour=colour75 ;;
  */crew/*) role=crew icon=C colour=colour211 ;;
  *) role=agent icon=- colour=colour250 ;;
esac

option() { mux set-option -t "=$session:" "$@" >/dev/null 2>&1 || true; }
option @gc_role "$role"
option status-style "bg=colour235,fg=$colour"
option status-left-length 40
option status-left "[$icon] $(printf '%s' "$agent" | sed 's/#/##/g') "
option status-right-length 60
option status-interval 30
option status-right "#($(quoted "$here/status-line.sh") $(quoted "$session") $(quoted "$agent")) %H:%M"
exit 0
