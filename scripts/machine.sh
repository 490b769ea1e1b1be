#!/bin/sh
# Names what this machine lacks, before anything is downloaded or built.
# usage: scripts/machine.sh [servers]     (servers: also what the build of the real servers needs)
fail=0
say() { echo "drydock: $*" >&2; fail=1; }

if [ "$(uname -s)" = Linux ]; then
  found=0
  for d in /lib /lib64 /usr/lib /usr/lib64 /lib/*-linux-gnu /usr/lib/*-linux-gnu /usr/local/lib; do
    [ -e "$d/libatomic.so.1" ] && found=1
  done
  [ $found = 1 ] || say "libatomic.so.1 is missing, which Node 26 needs. On Debian: apt-get install libatomic1"
fi
space=1
if [ "${1:-}" = servers ]; then
  space=6
  if command -v go >/dev/null 2>&1; then
    v=$(go env GOVERSION 2>/dev/null | sed 's/^go//')
    lowest=$(printf '%s\n1.24.13\n' "$v" | sort -V | head -1)
    [ "$lowest" = "1.24.13" ] || say "Go $v is too old: building the real servers needs 1.24.13 or newer. Install it from your distribution or go.dev."
  else
    say "Go is missing: building the real servers needs 1.24.13 or newer. The embedded servers, which are the default, need no build."
  fi
  mem=$(awk '/MemTotal/ { print int($2 / 1024) }' /proc/meminfo 2>/dev/null)
  [ "${mem:-9999}" -ge 3500 ] || say "this machine has $mem MiB of memory; building the real API server needs about 4 GiB."
fi
free=$(df -Pk . | awk 'NR == 2 { print int($4 / 1048576) }')
[ "${free:-99}" -ge $space ] || say "only $free GiB of disk are free here; about $space GiB are needed."
exit $fail
