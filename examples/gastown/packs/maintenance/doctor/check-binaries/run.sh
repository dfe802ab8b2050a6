#!/bin/sh
# Exit 0: jq and gh are there. Exit 2: one of them is missing, and the orders that need it do nothing.
set -eu

missing=''
for tool in jq gh; do
  command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
done
if [ -n "$missing" ]; then
  echo "missing on the PATH:$missing"
  case "$missing" in *jq*) echo "jq: package jq; gates, dependencies between rigs and the sweeps need it" ;; esac
  case "$missing" in *gh*) echo "gh: https://cli.github.com; gates that wait for GitHub need it" ;; esac
  exit 2
fi
echo "jq and gh are there"
