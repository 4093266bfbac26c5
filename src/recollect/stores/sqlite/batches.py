"""The batches in vendors' hands, kept in the index file: a killed run does not forget them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from recollect.stores.sqlite.connect import translated, writing

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    import apsw

    from recollect.types import Fingerprint


class SqliteBatches:
    """Names of batches with the digests of the texts in them, by space."""

    def __init__(self, connection: apsw.Connection, *, path: Path) -> None:
        self._connection = connection
        self._path = path

    def remember(self, fingerprint: Fingerprint, batch: str, digests: Collection[str]) -> None:
        """Keep a batch's name and what is in it."""
        with translated(self._path), writing(self._connection):
            self._connection.execute(
                "INSERT OR REPLACE INTO batches (fingerprint, name, digests) VALUES (?, ?, ?)",
                (str(fingerprint), batch, json.dumps(sorted(digests))),
            )

    def remembered(self, fingerprint: Fingerprint) -> Mapping[str, frozenset[str]]:
        """Return the digests in each batch of a space that is not forgotten."""
        with translated(self._path):
            rows = self._connection.execute(
                "SELECT name, digests FROM batches WHERE fingerprint = ? ORDER BY name",
                (str(fingerprint),),
            )
            return {str(name): frozenset(json.loads(str(digests))) for name, digests in rows}

    def forget(self, fingerprint: Fingerprint, batch: str) -> None:
        """Drop a batch that there is nothing more to collect of."""
        with translated(self._path), writing(self._connection):
            self._connection.execute(
                "DELETE FROM batches WHERE fingerprint = ? AND name = ?", (str(fingerprint), batch)
            )
