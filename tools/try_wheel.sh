#!/bin/sh
# Tries an installed recollect from outside of the checkout: try_wheel.sh COMMAND WORKSPACE
set -eu
command=$1
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cp -R "$2" "$home/workspace"
export RECOLLECT_HOME="$home/home" RECOLLECT_PROVIDER=none
"$command" --version
"$command" -w "$home/workspace" search TCK-82152 -n 1
"$command" -w "$home/workspace" remember "The wheel was tried" >/dev/null
"$command" -w "$home/workspace" index >/dev/null
"$command" -w "$home/workspace" verify
"$command" -w "$home/workspace" mcp --help >/dev/null
"$(dirname "$command")/python" - <<'END'
from importlib.resources import files
from recollect import AsyncMemory, Memory
assert any(files("recollect.shells.web").iterdir()), "the web page is missing"
END
