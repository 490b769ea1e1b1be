#!/usr/bin/env bash
# Proves the README's commands as a newcomer runs them: in a fresh clone of HEAD, with empty caches and without Go.
# usage: scripts/fresh-clone.sh [demo|test]…     (default: demo test)
set -euo pipefail
root=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
base=$(mktemp -d "${TMPDIR:-/tmp}/fresh-clone.XXXXXX")
trap 'rm -rf "$base"' EXIT
git clone -q --no-hardlinks "$root" "$base/drydock"
mkdir "$base/tmp"
export npm_config_cache=$base/npm XDG_CACHE_HOME=$base/cache XDG_DATA_HOME=$base/data XDG_STATE_HOME=$base/state TMPDIR=$base/tmp

if [ $# -eq 0 ]; then set -- demo test; fi
for target in "$@"; do
  start=$SECONDS
  (cd "$base/drydock" && "$root/scripts/without-go.sh" make "$target" </dev/null)
  echo "fresh-clone: make $target took $((SECONDS - start)) s"
done
dirty=$(git -C "$base/drydock" status --porcelain)
if [ -n "$dirty" ]; then
  printf 'fresh-clone: these files are neither committed nor ignored:\n%s\n' "$dirty" >&2
  exit 1
fi
