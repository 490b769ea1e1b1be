#!/bin/sh
# Says in words what this machine lacks, before anything is downloaded or built.
fail=0
say() { echo "drydock: $*" >&2; fail=1; }

command -v npm >/dev/null 2>&1 || say "npm is missing. Install Node.js (any version with npm 10 or newer); the repository brings its own Node 26."
if command -v go >/dev/null 2>&1; then
  v=$(go env GOVERSION 2>/dev/null | sed 's/^go//')
  lowest=$(printf '%s\n1.24.13\n' "$v" | sort -V | head -1)
  [ "$lowest" = "1.24.13" ] || say "Go $v is too old: 1.24.13 or newer is needed to build the sandbox's servers. Install it from your distribution or go.dev."
else
  say "Go is missing: 1.24.13 or newer is needed once, to build the sandbox's servers."
fi
if [ "$(uname -s)" = Linux ]; then
  found=0
  for d in /lib /lib64 /usr/lib /usr/lib64 /lib/*-linux-gnu /usr/lib/*-linux-gnu /usr/local/lib; do
    [ -e "$d/libatomic.so.1" ] && found=1
  done
  [ $found = 1 ] || say "libatomic.so.1 is missing, Node 26 needs it. On Debian: apt-get install libatomic1"
  mem=$(awk '/MemTotal/ { print int($2 / 1024) }' /proc/meminfo 2>/dev/null)
  [ "${mem:-9999}" -ge 3500 ] || say "this machine has $mem MiB of memory; the build of the API server needs about 4 GiB."
fi
free=$(df -Pk . | awk 'NR == 2 { print int($4 / 1048576) }')
[ "${free:-99}" -ge 6 ] || say "only $free GiB are free here; sources, caches and servers need about 6 GiB."
exit $fail
