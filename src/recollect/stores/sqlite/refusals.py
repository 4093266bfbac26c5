"""Texts that a provider refused, so that not every search asks it again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from recollect.stores.sqlite.connect import translated, writing

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    import apsw

    from recollect.types import Fingerprint

_GET = "SELECT value FROM meta WHERE key = ?"
_PUT = "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)"


class SqliteRefusals:
    """Digests of refused texts, by space."""

    def __init__(self, connection: apsw.Connection, *, path: Path) -> None:
        self._connection = connection
        self._path = path

    def get(self, fingerprint: Fingerprint) -> frozenset[str]:
        """Return what was refused the last time everything was asked for."""
        with translated(self._path):
            found = self._connection.execute(_GET, (f"refused {fingerprint}",)).get
        return frozenset() if found is None else frozenset(json.loads(str(found)))

    def put(self, fingerprint: Fingerprint, digests: Collection[str]) -> None:
        """Remember these and no others."""
        with translated(self._path), writing(self._connection):
            self._connection.execute(_PUT, (f"refused {fingerprint}", json.dumps(sorted(digests))))
