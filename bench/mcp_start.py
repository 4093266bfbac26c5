"""How long does a host wait for `recollect mcp`? Start to handshake, tools, first answer, and end.

python bench/mcp_start.py WORKSPACE [RUNS]      the server, as a host starts it
python bench/mcp_start.py --imports [RUNS]      what loading the SDK costs, in several ways
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

RUNS = 11
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
SEARCH = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "memory_search", "arguments": {"query": "what did we decide"}},
}
_SERVER = "import mcp.server.lowlevel.server, mcp_types"
_BARE = """
import sys, types, importlib.util
found = importlib.util.find_spec("mcp")
bare = types.ModuleType("mcp")
bare.__path__, bare.__spec__ = list(found.submodule_search_locations), found
sys.modules["mcp"] = bare
"""
_NO_GC = "import gc; gc.disable()\n"
WAYS = {
    "python alone": "pass",
    "what the handshake needs": "import recollect.shells.cli.serve, recollect.shells.mcp.stdio, "
    "recollect.shells.mcp.handshake",
    "import mcp": "import mcp",
    "the server's parts": _SERVER,
    "the server's parts, no garbage collection": _NO_GC + _SERVER,
    "a bare package `mcp`": _BARE + _SERVER,
    "a bare package, no garbage collection": _NO_GC + _BARE + _SERVER,
}


def main() -> None:
    """Measure and print medians, least and most, in milliseconds."""
    subject = sys.argv[1]
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else RUNS  # noqa: PLR2004 - subject and runs
    measured = imports(runs) if subject == "--imports" else starts(Path(subject), runs)
    for name, seconds in measured.items():
        least, median, most = (
            round(each * 1000) for each in (min(seconds), statistics.median(seconds), max(seconds))
        )
        print(f"{name:45} {median:6} ms  ({least} to {most})")


def starts(workspace: Path, runs: int) -> dict[str, list[float]]:
    """Start the server again and again as a host does, after one run that is not counted."""
    measured: dict[str, list[float]] = {}
    for run in range(runs + 1):
        for name, seconds in one_start(workspace).items():
            if run:
                measured.setdefault(name, []).append(seconds)
    return measured


def one_start(workspace: Path) -> dict[str, float]:
    """Return when each answer came, since the process was started, and how long the end took."""
    command = [sys.executable, "-m", "recollect", "-w", str(workspace), "mcp"]
    begun = time.perf_counter()
    measured = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:  # noqa: S603 - our own command
        assert server.stdin is not None  # noqa: S101
        assert server.stdout is not None  # noqa: S101
        for name, messages in (
            ("handshake", (INITIALIZE,)),
            ("tools/list", (INITIALIZED, TOOLS)),
            ("first search", (SEARCH,)),
        ):
            for message in messages:
                server.stdin.write(json.dumps(message).encode() + b"\n")
            server.stdin.flush()
            json.loads(server.stdout.readline())
            measured[name] = time.perf_counter() - begun
        ending = time.perf_counter()
        server.stdin.close()
        server.wait()
        measured["end"] = time.perf_counter() - ending
    return measured


def imports(runs: int) -> dict[str, list[float]]:
    """Start Python with each way to load things, in turns; return the processor's time.

    That hangs less on what else the machine does than the time on a clock.
    """
    measured: dict[str, list[float]] = {name: [] for name in WAYS}
    for run in range(runs + 1):
        for name, code in WAYS.items():
            child = subprocess.Popen([sys.executable, "-c", code])  # noqa: S603 - our own code
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            if run:
                measured[name].append(used.ru_utime + used.ru_stime)
    return measured


if __name__ == "__main__":
    main()
