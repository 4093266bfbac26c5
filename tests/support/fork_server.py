"""Runs `recollect` commands as forks of one interpreter that has loaded every module.

usage: python -m tests.support.fork_server SOCKET     serves until standard input is closed

A command then starts in milliseconds instead of half a second of processor time, and is still a
process of its own with its own arguments, environment, folder, streams, signals and exit code.
`tests/support/forked.py` is the client. Nothing may start a thread here: forks would lack it.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import random
import select
import signal
import socket
import sys
import threading
import time
from pathlib import Path

from tests.support import tracing

import recollect

LOADED_TOO = ("httpx", "numpy", "rich.console", "uvicorn", "watchfiles")
"""Loaded by commands when they need it. Not onnxruntime, which starts a thread when loaded."""
SKIPPED = ("recollect.__main__", "recollect.retrievers")
SCRIPT = str(Path(sys.executable).parent / "recollect")
_STREAMS = 3
_MOST_BYTES = 1 << 20


def main() -> None:
    """Load everything, then fork a keeper for each client."""
    load_everything()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the keepers
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(sys.argv[1])
        listening.listen()
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([listening, sys.stdin], [], [])
            if sys.stdin in ready:
                return
            client, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                keep(client)
            client.close()


def load_everything() -> None:
    """Import every module a command may need, as the first command of a process would."""
    for name in LOADED_TOO:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(recollect.__path__, "recollect."):
        if not module.name.startswith(SKIPPED):
            with contextlib.suppress(ImportError):  # an extra that is not installed
                importlib.import_module(module.name)
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        raise RuntimeError("A module starts a thread when it is imported: forks would lack it.")
    gc.collect()
    gc.freeze()


def keep(client: socket.socket) -> None:
    """Run one command in a child and tell the client how it ends. Does not return."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with client:
        request, streams = receive(client)
        child = os.fork()
        if child == 0:
            client.close()
            be_the_command(request, streams)
        for stream in streams:
            os.close(stream)
        client.sendall(f"{child}\n".encode())
        # A client that is killed closes the connection: then its command is killed, too.
        watch = os.pidfd_open(child)
        ready, _, _ = select.select([watch, client.fileno()], [], [])
        if watch not in ready:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(OSError):
            client.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def receive(client: socket.socket) -> tuple[dict[str, object], list[int]]:
    """Return the request, and the client's standard streams."""
    streams = array.array("i")
    room = socket.CMSG_LEN(_STREAMS * streams.itemsize)
    content, extra, _, _ = client.recvmsg(_MOST_BYTES, room)
    for _, _, descriptors in extra:
        streams.frombytes(descriptors)
    while not content.endswith(b"\n"):
        content += client.recv(_MOST_BYTES)
    return json.loads(content), list(streams)


def be_the_command(request: dict[str, object], streams: list[int]) -> None:
    """Become the command. Does not return."""
    code = 1
    try:
        for number, descriptor in enumerate(streams):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.chdir(str(request["folder"]))
        os.umask(int(str(request["umask"])))
        os.environ.clear()
        os.environ.update(request["environ"])  # type: ignore[call-overload]  # from JSON
        sys.argv[:] = [SCRIPT, *request["arguments"]]  # type: ignore[misc]
        for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
            mode = "r" if name == "stdin" else "w"
            buffering = 1 if name == "stderr" or os.isatty(number) else -1
            stream = os.fdopen(number, mode, buffering=buffering, encoding="utf-8", closefd=False)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        random.seed()
        time.tzset()
        if report := os.environ.get(tracing.VARIABLE):
            tracing.start(report)
        code = run_main()
    finally:
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def run_main() -> int:
    """Run the command line as an interpreter would, to the end of its threads."""
    from recollect.shells.cli import main as recollect_main  # noqa: PLC0415

    try:
        recollect_main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001 - printed as the interpreter does
        sys.excepthook(*sys.exc_info())
        code = 1
    else:
        code = 0
    threading._shutdown()  # type: ignore[attr-defined]  # what an interpreter does at its end
    atexit._run_exitfuncs()
    return code


if __name__ == "__main__":
    main()
