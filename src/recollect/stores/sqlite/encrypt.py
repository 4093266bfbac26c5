"""Encrypts a file at rest, if the SQLite in use can: the package `apsw-sqlite3mc` in apsw's place.

The cipher is ChaCha20-Poly1305, per page, with the key as it is given. Its salt is of no use with
such a key, so the sixteen plain bytes at the start of the file say instead that the file is
encrypted and by which key. So another key is not mistaken for damage, which is repaired as ever
(docs/decisions/safety.md).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import apsw

from recollect.errors import StoreBusyError, StoreError
from recollect.stores.keys import KEY_VARIABLE, key_of

if TYPE_CHECKING:
    from pathlib import Path

_PLAIN = b"SQLite format 3\0"
_ENCRYPTED = b"Recollect"
_HEAD_BYTES = 16
_PATIENCE_MS = 1000  # a server would keep the file open for ever
_PACKAGE = "apsw-sqlite3mc"
_DELETE = "delete that file and run `recollect index`: your notes are intact"


def unlock(connection: apsw.Connection, path: Path, *, writable: bool) -> None:
    """Give a connection that was just opened the key of its file; encrypt a file in plain.

    Raises:
        StoreError: there is no key, another one, or no SQLite that can use it.
        StoreBusyError: the file is in plain, and another process uses it.

    """
    # Read through SQLite: closing a file of our own would release SQLite's locks on it.
    _, head = connection.read("main", 0, 0, _HEAD_BYTES)
    key = key_of(path)
    if key is None:
        if head.startswith(_ENCRYPTED):
            raise _refusal(path, "is encrypted, and there is no key", f"Set {KEY_VARIABLE} to it")
        return
    if not hasattr(apsw, "mc_version"):
        raise _no_ciphers(path, is_encrypted=head.startswith(_ENCRYPTED))
    own = _head_of(key)
    if head.startswith(_ENCRYPTED) and head != own:
        raise _refusal(path, "is encrypted with another key", f"Set {KEY_VARIABLE} to that key")
    if head == _PLAIN and not writable:
        return  # it can be read, and not be changed
    connection.pragma("cipher", "chacha20")
    if head == _PLAIN:
        _encrypt(connection, path, key=f"raw:{key}{own.hex()}")
    else:
        connection.pragma("key", f"raw:{key}{own.hex()}")


def require_ciphers(path: Path) -> None:
    """Check that a file can be made for a key, before there is one.

    Raises:
        StoreError: this SQLite has no ciphers.

    """
    if key_of(path) is not None and not hasattr(apsw, "mc_version"):
        raise _no_ciphers(path, is_encrypted=False)


def _no_ciphers(path: Path, *, is_encrypted: bool) -> StoreError:
    return _refusal(
        path,
        f"cannot be encrypted or decrypted: this SQLite has no ciphers, and {KEY_VARIABLE} is set",
        f"Run `pip install --force-reinstall --no-deps {_PACKAGE}`",
        otherwise=_DELETE if is_encrypted else f"unset {KEY_VARIABLE}",
    )


def _head_of(key: str) -> bytes:
    """Return what a file starts with; the digest of a random key of 256 bits gives nothing away."""
    digest = hashlib.sha256(b"recollect " + key.encode()).digest()
    return (_ENCRYPTED + digest)[:_HEAD_BYTES]


def _encrypt(connection: apsw.Connection, path: Path, *, key: str) -> None:
    """Encrypt every page of a file in plain, in one transaction, while nobody else has it open."""
    connection.set_busy_timeout(_PATIENCE_MS)
    connection.pragma("locking_mode", "exclusive")
    try:
        connection.pragma("journal_mode", "delete")  # a log of plain pages would remain
        connection.pragma("rekey", key)
    except apsw.BusyError as error:
        raise StoreBusyError(
            f"Another process uses the index {path}, so it cannot be encrypted now.",
            action="Stop other processes of Recollect (servers, watchers) and run this again.",
        ) from error
    connection.pragma("locking_mode", "normal")
    connection.execute("SELECT 1 FROM sqlite_schema").fetchall()  # gives the lock back


def _refusal(path: Path, reason: str, action: str, *, otherwise: str = _DELETE) -> StoreError:
    return StoreError(f"The index {path} {reason}.", action=f"{action}, or {otherwise}.")
