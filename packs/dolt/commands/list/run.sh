#!/bin/sh
# One line per database: name and folder.
set -eu
. "$(dirname "$0")/../../assets/scripts/runtime.sh"

if [ ! -d "$DOLT_DATA_DIR" ]; then
  echo "no databases: $DOLT_DATA_DIR does not exist"
  exit 0
fi
names=$(local_databases)
if [ -z "$names" ]; then
  echo "no databases in $DOLT_DATA_DIR"
  exit 0
fi
printf '%s\n' "$names" | while IFS= read -r name; do
  printf '%-24s %s\n' "$name" "$DOLT_DATA_DIR/$name"
done
