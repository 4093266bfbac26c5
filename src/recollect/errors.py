"""Every failure Recollect reports, split by what the caller does next.

RecollectError
├── UsageError            the call was wrong: correct the arguments
│   ├── ConfigError       a setting was wrong: correct the file or variable named
│   ├── SecretError       the text contains a secret: leave it out, or force it
│   └── QueryError        the question was wrong: ask another
├── WorkspaceError        the workspace folder cannot be used: name another
├── NotFoundError         the file does not exist, or is not a memory file
├── ChangedError          another client changed the document: read it again
├── StorageLimitError     the memory would hold more than it may: delete something
│   └── DocumentSizeError  one document is too large: divide it
├── ElsewhereError        the files of the memory are on another machine: work there
├── StoreError            the index cannot be used
│   ├── StoreBusyError    another process holds it: wait and retry
│   ├── StoreFullError    the disk is full: free space and run again; the old index is intact
│   ├── StoreReadOnlyError  it cannot be written: change permissions or choose another home
│   ├── StoreUnreachableError  its server does not answer: check the server and the address
│   ├── StoreDiskError      the disk fails on it: check the disk; the file is left as it is
│   ├── StoreCorruptError   the file is damaged: it is set aside and rebuilt
│   └── StoreTooNewError    written by a newer Recollect: upgrade
├── DiskError             a file or folder cannot be read or written: check the disk
├── OutOfMemoryError      no memory is left: close other programs
└── ProviderError         texts cannot be embedded: search goes on with keywords
    ├── ModelUnavailableError  the model's files are missing or cannot be used
    ├── ProviderSetupError     a key, a package or an address is missing or wrong: correct it
    ├── QuotaError             the quota is used up: waiting does not help
    ├── ProviderBusyError      it does not answer, or asks to wait: try again later
    ├── RequestRefusedError    it does not accept these texts, or not so many at once
    └── VectorsRejectedError   it returned vectors that cannot be used

Each error carries an `action`: what to do about it.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import wraps
from types import FunctionType
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Facade = TypeVar("Facade", bound=type)


class RecollectError(Exception):
    """Base of everything Recollect raises on purpose."""

    kind = "error"
    """The name that programs know it by: that of its class, unless the class says another."""

    def __init_subclass__(cls) -> None:
        """Name the class."""
        if "kind" not in vars(cls):
            words = (f"_{each.lower()}" if each.isupper() else each for each in cls.__name__)
            cls.kind = "".join(words).removeprefix("_").removesuffix("_error")

    def __init__(self, message: str, *, action: str) -> None:
        super().__init__(message)
        self.message = message
        self.action = action

    def __str__(self) -> str:
        """Return what is wrong, and what to do about it."""
        return f"{self.message} {self.action}"


class UsageError(RecollectError):
    """The call was wrong."""


class ConfigError(UsageError):
    """A setting is unknown or has a value that cannot be used."""


class SecretError(UsageError):
    """The text contains a secret and was not stored."""


class QueryError(UsageError):
    """The question cannot be asked."""


class WorkspaceError(RecollectError):
    """The workspace folder is missing or cannot be read."""


class NotFoundError(RecollectError):
    """The file does not exist or is not a memory file."""


class ChangedError(RecollectError):
    """The stored document is not the one that a change was made for."""


class StorageLimitError(RecollectError):
    """A memory would hold more than its operator allows."""


class DocumentSizeError(StorageLimitError):
    """A document is larger than one may be."""

    kind = "too_large"


class ElsewhereError(RecollectError):
    """The files of this memory are on another machine."""


class StoreError(RecollectError):
    """The index cannot be used."""


class StoreBusyError(StoreError):
    """Another process holds the index for longer than the time limit."""


class StoreFullError(StoreError):
    """The disk has no room for the index."""


class StoreReadOnlyError(StoreError):
    """The index or its folder cannot be written."""


class StoreUnreachableError(StoreError):
    """The server that holds the index does not answer, or stopped answering."""


class StoreDiskError(StoreError):
    """The disk fails to read or write the index."""


class StoreCorruptError(StoreError):
    """The index file is damaged."""


class StoreTooNewError(StoreError):
    """The index was written by a newer version."""


class DiskError(RecollectError):
    """A file or folder cannot be read or written, for a reason that no other error names."""


class OutOfMemoryError(RecollectError):
    """The system gives this process no more memory."""


class ProviderError(RecollectError):
    """Texts cannot be embedded."""


class ModelUnavailableError(ProviderError):
    """The files of a local model are missing or cannot be used."""


class ProviderSetupError(ProviderError):
    """A key, a package or an address is missing or wrong."""


class QuotaError(ProviderError):
    """The account's quota is used up; asking again would not help."""


class ProviderBusyError(ProviderError):
    """The server does not answer, or asks to wait too long."""


class RequestRefusedError(ProviderError):
    """The server does not accept these texts, or not so many at once."""


class VectorsRejectedError(ProviderError):
    """A provider returned the wrong count, dimensions or values."""


def _has_current_folder() -> bool:
    try:
        os.getcwd()  # noqa: PTH109
    except OSError:
        return False
    return True


@contextmanager
def system_failures_explained() -> Iterator[None]:
    """Turn errors of the system that nobody expected into ours, with what to do next.

    Any look at a file can fail on a broken disk, even whether it is there. Where that has a meaning
    of its own, it is caught there; everything else is said here.
    """
    try:
        yield
    except (ConnectionError, TimeoutError):  # of a network or a pipe, not of a disk
        raise
    except OSError as error:
        if not _has_current_folder():
            raise DiskError(
                "The current folder no longer exists.", action="Go to another one, then try again."
            ) from error
        where = str(error.filename) if error.filename is not None else "A file"
        raise DiskError(
            f"{where} cannot be read or written ({error.strerror or error}).",
            action="Check the disk and the permissions, then try again.",
        ) from error
    except (MemoryError, RuntimeError) as error:
        # A thread that cannot be started, for want of memory or by a limit, has no own error.
        if isinstance(error, RuntimeError) and str(error) != "can't start new thread":
            raise
        raise OutOfMemoryError(
            f"The system is out of memory or threads ({str(error) or 'out of memory'}).",
            action="Close other programs or raise the limit, then try again.",
        ) from error


def explains_system_failures(facade: Facade) -> Facade:
    """Make the public methods of a class raise errors of the system as ours."""
    for name, method in list(vars(facade).items()):
        if name.startswith("_"):
            continue
        if isinstance(method, FunctionType):
            setattr(facade, name, _explaining(method))
        elif isinstance(method, (classmethod, staticmethod)):
            setattr(facade, name, type(method)(_explaining(method.__func__)))
    return facade


def _explaining(method: Callable[..., object]) -> Callable[..., object]:
    @wraps(method)
    def explaining(*args: object, **kwargs: object) -> object:
        with system_failures_explained():
            return method(*args, **kwargs)

    return explaining
