#!/usr/bin/env bash
# Runs a command where no Go can be found, as on a newcomer's machine.
# usage: scripts/without-go.sh COMMAND…
set -euo pipefail
links=$(mktemp -d "${TMPDIR:-/tmp}/without-go.XXXXXX")
trap 'rm -rf "$links"' EXIT

# A folder of PATH that has Go gives way to one of links to everything else in it.
path=
while read -r folder; do
  if [ -x "$folder/go" ]; then
    copy=$links/$(tr / _ <<<"$folder")
    mkdir -p "$copy"
    for program in "$folder"/*; do
      case ${program##*/} in go | gofmt | go[0-9]*) ;; *) ln -sf "$program" "$copy/" ;; esac
    done
    folder=$copy
  fi
  path=${path:+$path:}$folder
done < <(tr ':' '\n' <<<"$PATH")
export PATH=$path
unset GOROOT
if command -v go; then
  echo "without-go: go is still found" >&2
  exit 1
fi
"$@"
