"""Records every path that a process opens, lists or changes, with all links resolved.

`start` is called in a forked command (fork_server.py), or by traced/sitecustomize.py in a new
interpreter. SQLite and the watcher open files without Python: for those there are the canaries of
hostile.py.
"""

# pathlib would open and look at files itself
# ruff: noqa: PTH109, PTH115, PTH118, PTH119, PTH120

from __future__ import annotations

import atexit
import json
import os
import resource
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import StrOrBytesPath

VARIABLE = "RECOLLECT_TEST_TRACE"
"""Names the file to write: a JSON object per line."""
MAX_ADDRESS_BYTES = 8 << 30
"""A process that wants more is stopped: the machine has to survive the tests."""
_EVENTS = {
    "open": 1, "os.listdir": 1, "os.scandir": 1, "os.mkdir": 1, "os.rmdir": 1, "os.remove": 1,
    "os.truncate": 1, "os.chmod": 1, "os.chown": 1, "os.utime": 1, "os.rename": 2, "os.link": 2,
    "os.symlink": 2,
}  # fmt: skip
"""Events of the interpreter, and how many paths each begins with."""
_KEEPS_LINKS = {"os.rmdir", "os.remove", "os.rename", "os.link", "os.symlink"}
_FLAGS = 2
_base = threading.local()
_plain_open = os.open


def start(report: str) -> None:
    """Record from here on."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_ADDRESS_BYTES, MAX_ADDRESS_BYTES))
    descriptor = os.open(report, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    seen: set[tuple[str, str]] = set()
    _tell_folders_of_opens()

    def write(line: dict[str, object]) -> None:
        os.write(descriptor, json.dumps(line).encode() + b"\n")

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event not in _EVENTS or getattr(_base, "is_noting", False):
            return
        _base.is_noting = True
        try:
            take(event, arguments)
        finally:
            _base.is_noting = False

    def take(event: str, arguments: tuple[object, ...]) -> None:
        for path in arguments[: _EVENTS[event]]:
            resolved = _resolved(event, path, arguments)
            if resolved is not None and (event, resolved) not in seen:
                seen.add((event, resolved))
                write({"event": event, "path": resolved})

    def end() -> None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        seconds = used.ru_utime + used.ru_stime
        write({"peak_kib": peak(), "processor_seconds": seconds})

    def peak() -> int:
        # Of this program alone: ru_maxrss also counts the process that started it.
        _base.is_noting = True
        with open("/proc/self/status", encoding="utf-8") as status:  # noqa: PTH123 - as the rest here
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))

    sys.addaudithook(note)
    atexit.register(end)


def _resolved(event: str, path: object, arguments: tuple[object, ...]) -> str | None:
    if isinstance(path, int):
        return _target(f"/proc/self/fd/{path}")
    if not isinstance(path, (str, bytes)):
        return None
    named = os.path.join(getattr(_base, "folder", None) or os.getcwd(), os.fsdecode(path))
    flags = arguments[_FLAGS] if event == "open" else 0
    if event in _KEEPS_LINKS or (isinstance(flags, int) and flags & os.O_NOFOLLOW):
        return os.path.join(_real(os.path.dirname(named)), os.path.basename(named))
    return _real(named)


def _real(path: str) -> str:
    """Return what a path leads to, as the system resolves it: fast even for a thousand folders."""
    try:
        descriptor = _plain_open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # it does not exist, or not yet
        return os.path.realpath(path)
    try:
        return _target(f"/proc/self/fd/{descriptor}") or path
    finally:
        os.close(descriptor)


def _target(link: str) -> str | None:
    try:
        return os.readlink(link)
    except OSError:
        return None


def _tell_folders_of_opens() -> None:
    """Let the hook know which folder an open is relative to: the event does not say."""

    def told(
        path: StrOrBytesPath, flags: int, mode: int = 0o777, *, dir_fd: int | None = None
    ) -> int:
        _base.folder = None if dir_fd is None else _target(f"/proc/self/fd/{dir_fd}")
        try:
            return _plain_open(path, flags, mode, dir_fd=dir_fd)
        finally:
            _base.folder = None

    os.supports_dir_fd.add(told)
    os.open = told
