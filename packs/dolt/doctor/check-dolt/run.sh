#!/bin/sh
# Exit 0: dolt, flock and lsof are there. Exit 2: one of them is missing.
set -eu

missing=''
for tool in dolt flock lsof; do
  command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
done
if [ -n "$missing" ]; then
  echo "missing on the PATH:$missing"
  case "$missing" in *dolt*) echo "dolt: https://docs.dolthub.com/introduction/installation" ;; esac
  case "$missing" in *flock*) echo "flock: package util-linux (macOS: brew install flock)" ;; esac
  case "$missing" in *lsof*) echo "lsof: package lsof" ;; esac
  exit 2
fi
version=$(dolt version 2>/dev/null | head -n 1 || true)
echo "${version:-dolt is there but prints no version}"
