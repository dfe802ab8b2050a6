#!/bin/sh
# Exit 0: bd answers. Exit 2: it cannot be found or does not start.
set -eu

if ! command -v bd >/dev/null 2>&1; then
  echo "bd is not on the PATH"
  echo "install it: https://github.com/steveyegge/beads (for example: npm install -g @beads/bd)"
  echo "or keep the beads in the city itself: [beads] provider = \"file\""
  exit 2
fi
if ! said=$(bd --version 2>/dev/null || bd version 2>/dev/null); then
  echo "bd is on the PATH but does not start: $(command -v bd)"
  exit 2
fi
version=$(printf '%s\n' "$said" | grep -oE '[0-9]+(\.[0-9]+)+' | head -n 1 || true)
echo "bd ${version:-$said}"
