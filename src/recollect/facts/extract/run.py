"""Extractor: stores facts that a language model finds in files (`recollect ingest`).

The digest of every file that was sent is remembered in the user's home, so a second run over the
same files asks nothing, whatever happened to the index. A dry run stops after the plan.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import (
    NotFoundError,
    SecretError,
    StoreError,
    UsageError,
    explains_system_failures,
)
from recollect.facts.extract.ask import ask
from recollect.facts.extract.plan import plan_extraction
from recollect.facts.record import Provenance
from recollect.facts.rules import Verdict
from recollect.ingest.walk import find_matching
from recollect.providers.registry import prepared_chat
from recollect.records import dataclass
from recollect.text.confined import read_inside
from recollect.text.files import make_private_folder, replace_file
from recollect.types import Step, silent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from recollect.facts.book import FactBook
    from recollect.facts.extract.answer import ProposedFact
    from recollect.facts.extract.ask import BatchResult
    from recollect.facts.extract.options import ExtractOptions
    from recollect.facts.extract.plan import ExtractionPlan, PlannedFile
    from recollect.facts.record import Fact
    from recollect.facts.remember import Remembered
    from recollect.providers.base import Chat
    from recollect.types import Degradation, Progress

DEFAULT_PATHS = ("skills/**/*.md", "TOOLS.md", "AGENTS.md")
_MOST_BYTES = 4 * 1024 * 1024  # larger files are not documentation


@dataclass(frozen=True, slots=True)
class Extracted:
    """What an extraction did."""

    plan: ExtractionPlan
    stored: int = 0
    known: int = 0
    """Facts that were already known."""
    forgotten: tuple[Fact, ...] = ()
    """Facts that were forgotten before and therefore not stored."""
    contradicting: tuple[Remembered, ...] = ()
    """Stored facts that contradict others: a person has to decide."""
    suspicious: int = 0
    """Facts that read like instructions or are in no file; not stored."""
    skipped: int = 0
    """Lines of answers that are not usable facts."""
    failures: tuple[Degradation, ...] = ()
    notices: tuple[str, ...] = ()
    """Remarks on stored facts, and on facts with secrets, which were not stored."""
    input_tokens: int = 0
    output_tokens: int = 0
    """Both as the vendor counts them."""


@explains_system_failures
class Extractor:
    """Reads files, asks the language model about them, and stores the facts it finds."""

    def __init__(
        self,
        workspace: Path,
        *,
        book: FactBook,
        state: Path,
        chat: Chat | None,
        options: ExtractOptions,
    ) -> None:
        """Store the arguments.

        Args:
            workspace: nothing outside it is read.
            book: stores the facts.
            state: the file that remembers what was sent.
            chat: the language model; None if none is configured.
            options: which files to read if none are named, and how they are cut.

        """
        self._workspace = workspace
        self._book = book
        self._state = state
        self._chat = chat
        self._options = options

    @property
    def has_sent(self) -> bool:
        """Whether a file of this memory was ever sent."""
        return self._state.exists()

    def plan(self, paths: Sequence[str] = ()) -> ExtractionPlan:
        """Return what would be sent; asks nothing.

        Raises:
            UsageError: a pattern leaves the workspace.
            NotFoundError: no file matches.

        """
        files = self._files(paths or self._options.paths or DEFAULT_PATHS)
        return plan_extraction(files, self._done(), self._options)

    def run(self, paths: Sequence[str] = (), *, progress: Progress = silent) -> Extracted:
        """Send new and changed files, and store the facts of each answer as it arrives.

        Raises:
            UsageError: a pattern leaves the workspace.
            NotFoundError: no file matches.
            ProviderSetupError: no language model is configured, or its key is missing.

        """
        chat = prepared_chat(self._chat)
        plan = self.plan(paths)
        results: list[BatchResult] = []
        remembered: list[Remembered] = []
        refused: list[str] = []
        for result in ask(plan, chat):
            results.append(result)
            for fact in result.facts:
                try:
                    remembered += [] if fact.suspicion else [self._store(fact)]
                except SecretError as error:
                    refused.append(f"A fact of {fact.path or 'a file'} was left out. {error}")
            self._mark_done(result.completed)
            progress(Step("ask", result.batch.number, len(plan.batches)))
        self._mark_done(file for file in plan.files if not file.block_count)
        return _report(plan, results, remembered, refused=refused)

    def _store(self, fact: ProposedFact) -> Remembered:
        return self._book.remember(
            fact.text,
            category=fact.category,
            entity=fact.entity,
            key=fact.key,
            value=fact.value,
            tags=fact.tags,
            provenance=Provenance.INGEST,
            source=f"{fact.path}:{fact.start_line}-{fact.end_line}" if fact.path else "",
        )

    def _files(self, patterns: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for pattern in patterns:
            if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
                raise UsageError(
                    f"{pattern} leaves the workspace.", action="Name files inside the workspace."
                )
            for each in find_matching(self._workspace, pattern):
                with suppress(OSError):  # too large, or not readable
                    content = read_inside(Path(each.file), each.boundary, max_bytes=_MOST_BYTES)
                    found[each.path] = content.decode("utf-8", errors="replace")
        if not found:
            raise NotFoundError(
                f"No file of the workspace matches {', '.join(patterns)}.",
                action="Name others with --paths or the setting ingest.paths.",
            )
        return found

    def _done(self) -> dict[str, str]:
        try:
            done = json.loads(self._state.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except ValueError:
            done = None
        if not isinstance(done, dict):
            raise StoreError(
                f"{self._state}, the list of files that were sent already, is damaged.",
                action="Delete it; then every file is sent again.",
            )
        return {str(path): str(digest) for path, digest in done.items()}

    def _mark_done(self, files: Iterable[PlannedFile]) -> None:
        if digests := {file.path: file.digest for file in files}:
            make_private_folder(self._state.parent)
            content = json.dumps({**self._done(), **digests}, ensure_ascii=False, indent=1)
            replace_file(self._state, content.encode(), private=True)


def _report(
    plan: ExtractionPlan,
    results: Sequence[BatchResult],
    remembered: Sequence[Remembered],
    *,
    refused: Sequence[str],
) -> Extracted:
    def having(*verdicts: Verdict) -> list[Remembered]:
        return [each for each in remembered if each.decision.verdict in verdicts]

    known, forgotten = having(Verdict.EXISTING), having(Verdict.FORGOTTEN)
    stored = having(*{*Verdict} - {Verdict.EXISTING, Verdict.FORGOTTEN})
    return Extracted(
        plan=plan,
        stored=len(stored),
        known=len(known),
        # By text, because blocks overlap.
        forgotten=tuple({each.fact.text: each.fact for each in forgotten}.values()),
        contradicting=tuple(having(Verdict.CONTRADICTS)),
        suspicious=sum(bool(fact.suspicion) for result in results for fact in result.facts),
        skipped=sum(result.skipped for result in results),
        failures=tuple(result.failure for result in results if result.failure is not None),
        notices=(*refused, *(notice for each in stored for notice in each.notices)),
        input_tokens=sum(result.input_tokens for result in results),
        output_tokens=sum(result.output_tokens for result in results),
    )
