#!/bin/sh
# Keys of a city's tmux server: prefix n and p go to the next and the previous agent of the same group, prefix g opens a
# menu of agents, a click on the right of the status line shows the mail. In a session that is no agent's (it has no
# GC_AGENT) each key does what it does in plain tmux. Does nothing where there is no tmux or no agent's session.
#
#   tmux-keybindings.sh [CONFIG_DIR]                GC_TMUX_SOCKET: name of the city's tmux server
set -u
here=$(cd "$(dirname "$0")" && pwd)
command -v tmux >/dev/null 2>&1 || exit 0

mux() {
  if [ -n "${GC_TMUX_SOCKET:-}" ]; then tmux -L "$GC_TMUX_SOCKET" "$@"; else tmux "$@"; fi
}

# A server without any session of an agent is somebody's own: its keys stay.
ours=no
for id in $(mux list-sessions -F '#{session_id}' 2>/dev/null); do
  if mux show-environment -t "$id" GC_AGENT >/dev/null 2>&1; then ours=yes; fi
done
[ "$ours" = yes ] || exit 0

quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }
# Inside a tmux command in double quotes.
embedded() { printf '"%s"' "$(printf '%s' "$1" | sed 's/[\\"$]/\\&/g')"; }

is_agent="tmux show-environment -t '#{session_id}' GC_AGENT >/dev/null 2>&1"
bind() { # table, key, script with its arguments, what plain tmux does where it does something
  mux bind-key -T "$1" "$2" if-shell "$is_agent" "run-shell -b $(embedded "$3")" ${4:+"$4"} >/dev/null 2>&1 || true
}
bind prefix n "$(quoted "$here/cycle-session.sh") next '#{session_name}' '#{client_name}'" next-window
bind prefix p "$(quoted "$here/cycle-session.sh") prev '#{session_name}' '#{client_name}'" previous-window
bind prefix g "$(quoted "$here/agent-menu.sh") '#{client_name}'"
bind root MouseDown1StatusRight "$(quoted "$here/mail-popup.sh") '#{session_name}' '#{client_name}'"
exit 0
