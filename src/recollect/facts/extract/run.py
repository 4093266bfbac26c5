"""`ingest`: facts out of files, by a language model that is asked once a file's content.

What was sent is remembered in the home by the digest of each file, so a second run of the same
files asks nothing, whatever became of the index. A dry run makes the plan and stops there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError, UsageError
from recollect.facts.extract.ask import ExtractOptions, extract, plan_extraction
from recollect.facts.record import Provenance, extracted_category
from recollect.facts.rules import Verdict
from recollect.providers.registry import prepared_chat
from recollect.text.files import replace_file
from recollect.types import Step, silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.facts.book import FactBook
    from recollect.facts.extract.ask import BatchResult, Draft, Plan
    from recollect.facts.record import Fact
    from recollect.facts.remember import Remembered
    from recollect.providers.base import Chat
    from recollect.types import Degradation, Progress

DEFAULT_PATHS = ("skills/**/*.md", "TOOLS.md", "AGENTS.md")
_MOST_BYTES = 4 * 1024 * 1024  # a file beyond this is no text to learn from


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a run came to."""

    plan: Plan
    stored: int = 0
    known: int = 0
    """Drafts that said what is known."""
    forgotten: tuple[Fact, ...] = ()
    """What was forgotten on purpose before, and therefore left out."""
    contradicting: tuple[Remembered, ...] = ()
    """Stored beside what they contradict: somebody has to decide."""
    suspicious: int = 0
    """Drafts that read like instructions or that no file holds; not stored."""
    skipped: int = 0
    """Lines of answers that were no facts."""
    failures: tuple[Degradation, ...] = ()
    notices: tuple[str, ...] = ()
    """What is to be known of facts that were stored."""
    cost: float | None = None


class Extractor:
    """Reads files, asks the model, writes facts down."""

    def __init__(
        self,
        workspace: Path,
        *,
        book: FactBook,
        state: Path,
        chat: Chat | None,
        usual: Sequence[str] = (),
    ) -> None:
        """Store the parts.

        Args:
            workspace: whose files; nothing outside it is read.
            book: where facts go.
            state: the file that remembers what was sent.
            chat: the language model; None when none is configured.
            usual: the files where none are named.

        """
        self._workspace = workspace
        self._book = book
        self._state = state
        self._chat = chat
        self._usual = tuple(usual) or DEFAULT_PATHS

    def plan(self, paths: Sequence[str] = ()) -> Plan:
        """Return what would be sent, and what it would cost; asks nothing.

        Raises:
            UsageError: a pattern leaves the workspace.
            NotFoundError: no file matches.

        """
        options = ExtractOptions(price=self._chat.price if self._chat is not None else None)
        return plan_extraction(self._files(paths or self._usual), self._sent(), options)

    def run(self, paths: Sequence[str] = (), *, progress: Progress = silent) -> Extracted:
        """Send what is new or changed, and write down what comes back, batch by batch.

        Raises:
            UsageError: a pattern leaves the workspace.
            NotFoundError: no file matches.
            ProviderSetupError: no language model is set, or it has no key.

        """
        chat = prepared_chat(self._chat)
        plan = self.plan(paths)
        tally = _Tally(plan)
        batches = len(plan.batches)

        def done(result: BatchResult) -> None:
            for draft in result.drafts:
                tally.count(draft, self._book)
            tally.skipped += sum(each.count for each in result.skipped)
            if result.failure is not None:
                tally.failures.append(result.failure)
            self._remember({each.path: each.digest for each in result.completed})
            progress(Step("ask", result.batch.number, batches))

        extraction = extract(plan, chat, done)
        self._remember({each.path: each.digest for each in extraction.completed})
        was_answered = extraction.input_tokens or extraction.output_tokens
        return tally.finished(cost=extraction.cost if was_answered else None)

    def _files(self, patterns: Sequence[str]) -> dict[str, str]:
        root = self._workspace.resolve()
        found: dict[str, str] = {}
        for pattern in patterns:
            if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
                raise UsageError(
                    f"{pattern} leaves the workspace.", action="Name files inside the workspace."
                )
            for file in sorted(root.glob(pattern)):
                # A link may lead out of the workspace, and what is there was not offered.
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

    def _sent(self) -> dict[str, str]:
        try:
            sent = json.loads(self._state.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return {str(path): str(digest) for path, digest in sent.items()}

    def _remember(self, files: dict[str, str]) -> None:
        if files:
            self._state.parent.mkdir(parents=True, exist_ok=True)
            content = json.dumps({**self._sent(), **files}, ensure_ascii=False, indent=1)
            replace_file(self._state, content.encode())


class _Tally:
    """Counts what became of drafts."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.stored = self.known = self.suspicious = self.skipped = 0
        self.forgotten: dict[str, Fact] = {}  # by text: blocks overlap
        self.contradicting: list[Remembered] = []
        self.failures: list[Degradation] = []
        self.notices: list[str] = []

    def count(self, draft: Draft, book: FactBook) -> None:
        """Write a draft down, unless it is better left."""
        if draft.is_suspicious:
            self.suspicious += 1
            return
        remembered = book.remember(
            draft.text,
            category=extracted_category(draft.category),
            entity=draft.entity,
            key=draft.key,
            value=draft.value,
            tags=draft.tags,
            provenance=Provenance.INGEST,
            source=f"{draft.path}:{draft.start_line}-{draft.end_line}" if draft.path else "",
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

    def finished(self, *, cost: float | None) -> Extracted:
        """Return the sum."""
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
