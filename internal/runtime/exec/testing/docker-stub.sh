#!/bin/sh
# Stands in for docker: a container is a folder with labels, a process in it one of this machine, `sleep infinity` nothing at all.
# Its own /run/gc-tmux is $STUB/ID/run. It knows the words that the session script says.
set -eu
echo "$*" >>"$STUB/log"
case $1 in
image)
  [ "$3" != missing:latest ] || { echo "Error: No such image: $3" >&2; exit 1; }
  ;;
run)
  shift
  name='' agent='' state=''
  while [ $# -gt 0 ]; do
    case $1 in
    --name) name=$2 && shift ;;
    --label) case $2 in gc.agent=*) agent=${2#*=} ;; gc.state=*) state=${2#*=} ;; esac && shift ;;
    -v | -w | -e | --user | --network) shift ;;
    -*) ;;
    *) break ;;
    esac
    shift
  done
  mkdir "$STUB/$name" || { echo "Conflict. The container name is already in use" >&2; exit 125; }
  echo "$state $agent" >"$STUB/$name/labels"
  echo "$1" >"$STUB/$name/image"
  echo running >"$STUB/$name/state"
  echo "$name"
  ;;
inspect)
  [ -d "$STUB/$4" ] || { echo "Error: No such object: $4" >&2; exit 1; }
  grep -q running "$STUB/$4/state" && echo "true $(cat "$STUB/$4/labels")" || echo "false $(cat "$STUB/$4/labels")"
  ;;
ps)
  all=no
  [ "$2" != -a ] || all=yes
  for each in "$STUB"/*/labels; do
    [ -e "$each" ] || continue
    dir=${each%/labels}
    read -r state agent <"$each"
    now=$(cat "$dir/state")
    if [ "$all" = yes ]; then printf '%s\t%s\t%s\t%s\t%s\n' "$state" "$agent" "${dir##*/}" "$now" "$now"
    elif [ "$now" = running ]; then echo "$state $agent"; fi
  done
  ;;
exec)
  shift
  while :; do
    case $1 in -i | -t | -it) shift ;; -u) shift 2 ;; *) break ;; esac
  done
  name=$1
  shift
  [ "$(cat "$STUB/$name/state" 2>/dev/null)" = running ] || { echo "container $name is not running" >&2; exit 1; }
  if grep -q no-tmux "$STUB/$name/image" && [ "$*" = "sh -c command -v tmux" ]; then exit 127; fi
  count=$#
  while [ "$count" -gt 0 ]; do
    word=$(printf '%sx' "$1" | sed "s|/run/gc-tmux|$STUB/$name/run|g")
    shift
    set -- "$@" "${word%x}"
    count=$((count - 1))
  done
  exec env -i PATH="$PATH" HOME=/nonexistent TERM=xterm-256color LANG=C.UTF-8 "$@"
  ;;
stop)
  TMUX_TMPDIR="$STUB/$4/run" tmux kill-server 2>/dev/null || true
  echo exited >"$STUB/$4/state"
  ;;
rm) rm -rf "${STUB:?}/$3" ;;
logs) ;;
*) exit 1 ;;
esac
