"""The ledger of a memory whose documents are in the store: the same pages, without a disk.

Each file of memory/facts/ is a pushed document. One transaction reads and writes them, so nothing
can change in between.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError
from recollect.facts.folder import FACTS_FOLDER, STRAY, holds_facts
from recollect.facts.ledger import FORGOTTEN, Ledger
from recollect.ingest.pushed import read_pushed
from recollect.stores.pushed import PushedChange
from recollect.types import Stat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from recollect.ingest.folders import Found
    from recollect.stores.pushed import PushedDocument, PushedDocuments
    from recollect.types import Document

_START = f"{FACTS_FOLDER}/"


class StoredLedger(Ledger):
    """The facts of a memory, as pushed documents."""

    def __init__(
        self,
        pushed: PushedDocuments,
        *,
        on_change: Callable[[], object],
    ) -> None:
        """Store the arguments.

        Args:
            pushed: holds the files.
            on_change: called after facts were changed.

        """
        super().__init__(Path(FACTS_FOLDER))
        self._pushed = pushed
        self._on_change = on_change

    def check(self) -> None:
        """Refuse the ledger of a memory whose files are on another machine."""
        self._pushed.require_here()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make everything inside one transaction."""
        with self._pushed.changing():
            yield
        self._on_change()

    def names(self) -> list[str]:
        """Return the names of the files that hold facts, in order."""
        return sorted(name for name in self._listed() if holds_facts(name) and "/" not in name)

    def strays(self) -> dict[str, tuple[str, str]]:
        """Return the Markdown files that are not read, why, and what to do about it."""
        return {name: STRAY for name in self._listed() if holds_facts(name) and "/" in name}

    def stats(self) -> dict[str, Stat]:
        """Return size and time of each file."""
        found = self._listed()
        return {name: Stat(found[name].size_bytes, found[name].changed_ns) for name in self.names()}

    def identities(self) -> dict[str, tuple[int, ...]]:
        """Return the version of each file."""
        listed = self._listed()
        return {
            name: (each.version,)
            for name, each in listed.items()
            if holds_facts(name) or name == FORGOTTEN
        }

    def content(self, name: str) -> bytes:
        """Return the bytes of a file.

        Raises:
            FileNotFoundError: there is no such file.

        """
        try:
            return self._pushed.content(_START + name)[1]
        except NotFoundError as error:
            raise FileNotFoundError(name) from error

    def replace(self, changes: Mapping[str, tuple[bytes | None, bytes]]) -> None:
        """Replace or create files: all, or none."""
        written = [PushedChange(_START + name, after) for name, (_, after) in changes.items()]
        self._pushed.change(written)

    def drop_history(self) -> None:
        """Delete the earlier versions of all pages: a fact may have been in any of them."""
        for each in (*self._pushed.listed(start=_START), *self._pushed.deleted()):
            if each.path.startswith(_START):
                self._pushed.purge(each.path, keep_current=True)

    def document(self, found: Found) -> Document:
        """Read a file as a document."""
        return read_pushed(self._pushed, found)

    def ledger(self) -> Ledger:
        """Return itself."""
        return self

    def _listed(self) -> dict[str, PushedDocument]:
        return {each.path.removeprefix(_START): each for each in self._pushed.listed(start=_START)}
