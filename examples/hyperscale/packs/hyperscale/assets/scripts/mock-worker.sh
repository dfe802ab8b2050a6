#!/usr/bin/env bash
# Plays a worker: takes one bead that is routed to "worker", closes it, ends. Needs bd.
#
# GC_AGENT   who claims        GC_DIR   where to work (else here)
set -u
me=${GC_AGENT:?mock-worker: GC_AGENT is not set}
cd "${GC_DIR:-$PWD}" || exit 1

# The id is the second field of a line for people: "[P2] gc-12 …".
ids() { awk '$2 ~ /^[a-z][a-z]-[a-z0-9]/ { print $2 }'; }

for bead in $(bd ready --metadata-field gc.routed_to=worker --unassigned 2>/dev/null | ids); do
  if ! bd update "$bead" --claim --actor="$me" >/dev/null 2>&1; then continue; fi
  echo "$me  claimed $bead"
  if bd close "$bead" --reason "done by $me" >/dev/null; then
    echo "$me  closed $bead"
  else
    echo "$me  could not close $bead"
  fi
  exit 0
done
echo "$me  no work"
exit 0
