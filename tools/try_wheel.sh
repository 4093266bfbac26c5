#!/bin/sh
# Tries an installed recollect from outside of the checkout: try_wheel.sh COMMAND WORKSPACE
set -eu
command=$1
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cp -R "$2" "$home/workspace"
# An empty home and no network for anybody: the models come with the wheels.
export RECOLLECT_HOME="$home/home" HOME="$home/user"
export https_proxy=http://127.0.0.1:9 http_proxy=http://127.0.0.1:9 PIP_NO_INDEX=1
"$command" --version
"$command" -w "$home/workspace" search TCK-82152 -n 1
"$command" -w "$home/workspace" search "how do we keep backups safe" --rerank --json >"$home/answer"
"$command" -w "$home/workspace" remember "The wheel was tried" >/dev/null
"$command" -w "$home/workspace" index >/dev/null
"$command" -w "$home/workspace" doctor --verify
"$command" -w "$home/workspace" mcp --help >/dev/null
"$(dirname "$command")/python" - "$home/answer" <<'END'
import json
import sys
from importlib.resources import files
from pathlib import Path
from recollect import AsyncMemory, Memory
assert any(files("recollect.shells.web").iterdir()), "the web page is missing"
answer = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
assert answer["results"] and not answer["degraded"], answer["degraded"]
END
