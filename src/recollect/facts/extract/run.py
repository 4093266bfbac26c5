"""Extractor: stores facts that a language model finds in files (`recollect ingest`).

The digest of every file that was sent is remembered in the user's home, so a second run over the
same files asks nothing, whatever happened to the index. A dry run stops after the plan.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError, UsageError
from recollect.facts.extract.ask import ask
from recollect.facts.extract.plan import ExtractOptions, plan_extraction
from recollect.facts.record import Provenance
from recollect.facts.rules import Verdict
from recollect.providers.registry import prepared_chat
from recollect.text.files import replace_file
from recollect.types import Step, silent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from recollect.facts.book import FactBook
    from recollect.facts.extract.answer import ProposedFact
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
    """Remarks on stored facts."""
    cost: float | None = None


class Extractor:
    """Reads files, asks the language model about them, and stores the facts it finds."""

    def __init__(
        self,
        workspace: Path,
        *,
        book: FactBook,
        state: Path,
        chat: Chat | None,
        usual: Sequence[str] = (),
    ) -> None:
        """Store the arguments.

        Args:
            workspace: nothing outside it is read.
            book: stores the facts.
            state: the file that remembers what was sent.
            chat: the language model; None if none is configured.
            usual: the files to read if none are named.

        """
        self._workspace = workspace
        self._book = book
        self._state = state
        self._chat = chat
        self._usual = tuple(usual) or DEFAULT_PATHS

    def plan(self, paths: Sequence[str] = ()) -> ExtractionPlan:
        """Return what would be sent and what it would cost; asks nothing.

        Raises:
            UsageError: a pattern leaves the workspace.
            NotFoundError: no file matches.

        """
        options = ExtractOptions(price=self._chat.price if self._chat is not None else None)
        return plan_extraction(self._files(paths or self._usual), self._done(), options)

    def run(self, paths: Sequence[str] = (), *, progress: Progress = silent) -> Extracted:
        """Send new and changed files, and store the facts of each answer as it arrives.

        Raises:
            UsageError: a pattern leaves the workspace.
            NotFoundError: no file matches.
            ProviderSetupError: no language model is configured, or its key is missing.

        """
        chat = prepared_chat(self._chat)
        plan = self.plan(paths)
        tally = _Tally(plan)
        for result in ask(plan, chat):
            for fact in result.facts:
                tally.store(fact, self._book)
            tally.skipped += result.skipped
            tally.input_tokens += result.input_tokens
            tally.output_tokens += result.output_tokens
            if result.failure is not None:
                tally.failures.append(result.failure)
            self._mark_done(result.completed)
            progress(Step("ask", result.batch.number, len(plan.batches)))
        self._mark_done(file for file in plan.files if not file.block_count)
        return tally.finished()

    def _files(self, patterns: Sequence[str]) -> dict[str, str]:
        root = self._workspace.resolve()
        found: dict[str, str] = {}
        for pattern in patterns:
            if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
                raise UsageError(
                    f"{pattern} leaves the workspace.", action="Name files inside the workspace."
                )
            for file in sorted(root.glob(pattern)):
                # A link may lead to a file outside the workspace, which must not be sent.
                is_inside = file.resolve().is_relative_to(root)
                if is_inside and file.is_file() and file.stat().st_size <= _MOST_BYTES:
                    path = file.relative_to(root).as_posix()
                    found[path] = file.read_text(encoding="utf-8", errors="replace")
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
        return {str(path): str(digest) for path, digest in done.items()}

    def _mark_done(self, files: Iterable[PlannedFile]) -> None:
        if digests := {file.path: file.digest for file in files}:
            self._state.parent.mkdir(parents=True, exist_ok=True)
            content = json.dumps({**self._done(), **digests}, ensure_ascii=False, indent=1)
            replace_file(self._state, content.encode())


class _Tally:
    """Stores proposed facts and counts what happened to them."""

    def __init__(self, plan: ExtractionPlan) -> None:
        self.plan = plan
        self.stored = self.known = self.suspicious = self.skipped = 0
        self.input_tokens = self.output_tokens = 0
        self.forgotten: dict[str, Fact] = {}  # by text, because blocks overlap
        self.contradicting: list[Remembered] = []
        self.failures: list[Degradation] = []
        self.notices: list[str] = []

    def store(self, fact: ProposedFact, book: FactBook) -> None:
        if fact.suspicion:
            self.suspicious += 1
            return
        remembered = book.remember(
            fact.text,
            category=fact.category,
            entity=fact.entity,
            key=fact.key,
            value=fact.value,
            tags=fact.tags,
            provenance=Provenance.INGEST,
            source=f"{fact.path}:{fact.start_line}-{fact.end_line}" if fact.path else "",
        )
        match remembered.decision.verdict:
            case Verdict.EXISTING:
                self.known += 1
            case Verdict.FORGOTTEN:
                self.forgotten[remembered.fact.text] = remembered.fact
            case verdict:
                self.stored += 1
                self.notices += remembered.notices
                if verdict is Verdict.CONTRADICTS:
                    self.contradicting.append(remembered)

    def finished(self) -> Extracted:
        price = self.plan.options.price
        cost = None
        if price is not None and (self.input_tokens or self.output_tokens):
            cost = price.of(input_tokens=self.input_tokens, output_tokens=self.output_tokens)
        return Extracted(
            plan=self.plan,
            stored=self.stored,
            known=self.known,
            forgotten=tuple(self.forgotten.values()),
            contradicting=tuple(self.contradicting),
            suspicious=self.suspicious,
            skipped=self.skipped,
            failures=tuple(self.failures),
            notices=tuple(self.notices),
            cost=cost,
        )
