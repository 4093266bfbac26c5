"""The source of facts: each file of the ledger is a document, each fact a chunk.

Each chunk knows who its fact applies to and when, so that no search finds what it must not.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from recollect.errors import StoreError
from recollect.facts.files import FACTS_FOLDER, FORGOTTEN
from recollect.ingest import read as reading
from recollect.ingest.folders import Found
from recollect.ingest.source import Source, Taken
from recollect.reports import Failure
from recollect.text.terms import TERMS_VERSION
from recollect.types import SourceKind, Stat, digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from recollect.facts.files import LedgerFiles
    from recollect.facts.state import LedgerState
    from recollect.stores.base import Store

_FACTS_VERSION = 4
_RULES = f"f{_FACTS_VERSION}-t{TERMS_VERSION}"
_FLAWED = "!"
"""Ends the recipe of a ledger with unreadable entries: they are reported at every sync."""
_DIGEST_CHARS = 12
_TRIES = 5  # how often a file may be saved while it is read


class FactsSource(Source):
    """The facts of a workspace, one chunk each."""

    kind = SourceKind.FACTS
    is_joint = True  # a fact in one file may end a fact in another

    def __init__(self, files: LedgerFiles, *, store: Store) -> None:
        self._files = files
        self._folder = files.folder
        self._store = store  # tells whether the ledger changed
        self._names: tuple[str, ...] = ()
        self._stats: dict[str, Stat] = {}
        self._recipe: str | None = None
        self._state: LedgerState | None = None

    @property
    def recipe(self) -> str:
        """The rules of indexing, and what superseded which, maybe in another file."""
        if self._recipe is None:
            state = self._read()
            flaw = _FLAWED if state.problems else ""
            self._recipe = f"{_RULES}-{_digest(state.effects)}-{_named(self._names)}{flaw}"
        return self._recipe

    def find(self) -> tuple[list[Found], list[Failure]]:
        """Return the files of the ledger, and the entries that cannot be read."""
        try:
            self._files.check()
        except StoreError as error:
            self._recipe = _RULES
            reason = error.message.removeprefix(f"{self._folder} ").rstrip(".")
            return [], [Failure(FACTS_FOLDER, reason, error.action)]
        self._stats = stats = self._stats_now()
        found = [
            Found(f"{FACTS_FOLDER}/{name}", self._folder / name, self._folder, stat, self.kind)
            for name, stat in stats.items()
        ]
        self._names = (*stats, *self._files.strays())
        self._state = None
        self._recipe = self._stored_recipe(found)
        if self._recipe is not None:
            return found, []
        problems = self._read().problems
        failures = [problem.as_failure(folder=FACTS_FOLDER) for problem in problems]
        unusable = {failure.path for failure in failures}
        return [each for each in found if each.path not in unusable], failures

    def has_changed(self) -> bool:
        """Compare sizes and times with those that `find` saw."""
        return self._stats != self._stats_now()

    def take(self, found: Found) -> Taken:
        """Read a file's facts."""
        for _ in range(_TRIES):
            document = self._files.document(found)
            state = self._read()
            if state.digests.get(found.file.name) == document.digest:
                return Taken(document, partial(state.chunks, document))
            self._state = None  # saved since the ledger was read
        raise reading.unreadable(
            found.path, "keeps changing while it is read", "Nothing to do: the next sync reads it."
        )

    def _stored_recipe(self, found: list[Found]) -> str | None:
        """Return the recipe all files were indexed with, if none of them can have changed since."""
        recipe = f"{_RULES}--{_named(())}"
        stored = self._store.known((self.kind, each.path) for each in found)
        for each in found:
            known = stored.get((self.kind, each.path))
            if known is None or not known.is_settled or known.stat != each.stat:
                return None
            if each is not found[0] and known.recipe != recipe:
                return None
            recipe = known.recipe
        is_current = recipe.startswith(f"{_RULES}-") and recipe.endswith(f"-{_named(self._names)}")
        return recipe if is_current else None

    def _read(self) -> LedgerState:
        if self._state is None:
            # Not at the top: a search whose ledger did not change needs none of it.
            from recollect.facts.ledger import Ledger  # noqa: PLC0415

            self._state = Ledger(self._files).read()
            self._recipe = None  # what was just read decides, not what is indexed
        return self._state

    def _stats_now(self) -> dict[str, Stat]:
        versions = self._files.versions()
        return {name: Stat(*versions[name][:2]) for name in versions if name != FORGOTTEN}


def _named(names: Iterable[str]) -> str:
    return _digest("\n".join(names))


def _digest(text: str) -> str:
    return digest_of(text.encode("utf-8", "surrogatepass"))[:_DIGEST_CHARS]
