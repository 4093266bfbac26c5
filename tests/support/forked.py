"""Stands for `recollect` and runs it as a fork of the server in fork_server.py.

usage: python -IS forked.py SOCKET ARGUMENT…

Hands its streams, environment, folder and umask over, passes signals on, and ends as the command
ends.
Imports little: its start is what the tests pay for every command.
"""

import array
import json
import os
import signal
import socket
import sys

UNSAFE = ("PYTHON", "LC_", "LANG")
"""Variables that a running interpreter has already read. They need a new one."""


def main() -> None:
    arguments = sys.argv[2:]
    if os.environ.get("LC_CTYPE") == "C.UTF-8":  # set by this interpreter itself
        del os.environ["LC_CTYPE"]
    if any(name.startswith(UNSAFE) for name in os.environ):
        os.execv(sys.executable, [sys.executable, "-m", "recollect", *arguments])  # noqa: S606
    umask = os.umask(0)
    os.umask(umask)
    request = {
        "arguments": arguments,
        "environ": dict(os.environ),
        "folder": os.getcwd(),  # noqa: PTH109 - pathlib is slow to load
        "umask": umask,
    }
    server = socket.socket(socket.AF_UNIX)
    server.connect(sys.argv[1])
    streams = array.array("i", [0, 1, 2])
    content = json.dumps(request).encode() + b"\n"
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)]
    sent = server.sendmsg([content], rights)
    server.sendall(content[sent:])
    answer = server.makefile()
    command = int(answer.readline())
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(command, number))
    code = int(answer.readline() or -signal.SIGKILL)
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


main()
