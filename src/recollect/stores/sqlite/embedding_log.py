"""Open batches and refused texts in the file: a killed run does not forget them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from recollect.stores.sqlite.connect import SqliteFile

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from recollect.types import Fingerprint


class SqliteEmbeddingLog(SqliteFile):
    """The EmbeddingLog role."""

    def batches(self, fingerprint: Fingerprint) -> Mapping[str, frozenset[str]]:
        """Return the open batches of a space: the digests in each, by the batch's name."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT name, digests FROM batches WHERE fingerprint = ? ORDER BY name",
                (str(fingerprint),),
            )
            return {str(name): frozenset(json.loads(str(digests))) for name, digests in rows}

    def put_batch(self, fingerprint: Fingerprint, name: str, digests: Collection[str]) -> None:
        """Remember a batch that was submitted."""
        with self._writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO batches (fingerprint, name, digests) VALUES (?, ?, ?)",
                (str(fingerprint), name, json.dumps(sorted(digests))),
            )

    def drop_batch(self, fingerprint: Fingerprint, name: str) -> None:
        """Forget a batch whose results are collected or lost."""
        with self._writing() as connection:
            connection.execute(
                "DELETE FROM batches WHERE fingerprint = ? AND name = ?", (str(fingerprint), name)
            )

    def refused(self, fingerprint: Fingerprint) -> frozenset[str]:
        """Return the digests of texts that the provider refused in the last full run."""
        found = self._meta(f"refused {fingerprint}")
        return frozenset() if found is None else frozenset(json.loads(found))

    def put_refused(self, fingerprint: Fingerprint, digests: Collection[str]) -> None:
        """Replace the digests of refused texts."""
        self._put_meta(f"refused {fingerprint}", json.dumps(sorted(digests)))
