"""Extractor: stores facts that a language model finds in files (`recollect ingest`).

    files ─ plan ─▶ Batches ─ ask ─▶ answers ─ parse ─▶ ProposedFacts ─ locate ─▶ BatchResults

Digests of files that were sent are kept in the user's home, whatever happens to the index. Each
result is stored with the files it completes: a killed run continues where it stopped.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import (
    NotFoundError,
    ProviderError,
    ProviderSetupError,
    QuotaError,
    SecretError,
    StoreError,
    UsageError,
    explains_system_failures,
)
from recollect.facts.extract.answer import is_answer, located, parse_facts
from recollect.facts.extract.plan import BATCH_TOKENS, SYSTEM, plan_extraction
from recollect.facts.record import Provenance
from recollect.facts.rules import Verdict
from recollect.ingest.walk import find_matching
from recollect.providers.registry import prepared_chat
from recollect.records import dataclass
from recollect.text.confined import read_inside
from recollect.text.files import make_private_folder, replace_file
from recollect.text.private import is_private, without_private
from recollect.types import Degradation, Step, silent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recollect.facts.book import FactBook
    from recollect.facts.draft import RememberReport
    from recollect.facts.extract import ExtractOptions
    from recollect.facts.extract.answer import ProposedFact
    from recollect.facts.extract.plan import Batch, ExtractionPlan
    from recollect.facts.record import Fact
    from recollect.providers.base import Chat
    from recollect.types import Progress

DEFAULT_PATHS = ("skills/**/*.md", "TOOLS.md", "AGENTS.md")
_OUTPUT_TOKENS = 2 * BATCH_TOKENS  # of one answer: twice what is sent is hardly ever cut off
_TEMPERATURE = 0.2
_BATCH_SECONDS = 300.0  # all attempts together
_MOST_BYTES = 4 * 1024 * 1024  # larger files are not documentation
_CUT_OFF = Degradation(
    "the model's answer was cut off before it contained a fact",
    "Choose a model without reasoning, or smaller batches.",
)
_NO_JSON = Degradation(
    "the model's answer contains no JSON", "Run it again, or choose another model."
)


@dataclass(frozen=True, slots=True)
class ExtractionReport:
    """What an extraction did."""

    plan: ExtractionPlan
    stored: int = 0
    known: int = 0
    forgotten: tuple[Fact, ...] = ()
    """Facts that were forgotten before and therefore not stored."""
    contradicting: tuple[RememberReport, ...] = ()
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
    """Tokens as the vendor counts them, like those of the input."""


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The outcome of one batch."""

    facts: tuple[ProposedFact, ...] = ()
    skipped: int = 0
    """Lines of the answer that are not usable, or repeat a fact."""
    suspicious: int = 0
    completed: tuple[str, ...] = ()
    """Files of which every block is now answered."""
    failure: Degradation | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    """Tokens of the answer as the vendor counts them, or else estimated."""


@explains_system_failures
@dataclass(frozen=True)
class Extractor:
    """Reads files, asks the language model about them, and stores the facts it finds."""

    workspace: Path
    """Nothing outside it is read."""
    book: FactBook
    state: Path
    """The file that remembers what was sent."""
    chat: Chat | None
    """The language model; None if none is configured."""
    options: ExtractOptions
    """Which files to read if none are named."""

    @property
    def has_sent(self) -> bool:
        """Whether a file of this memory was ever sent."""
        return self.state.exists()

    def plan(self, paths: Sequence[str] = ()) -> ExtractionPlan:
        """Return what would be sent; asks nothing.

        Raises:
            UsageError: a pattern leaves the workspace.
            NotFoundError: no file matches.

        """
        files = self._files(paths or self.options.paths or DEFAULT_PATHS)
        return plan_extraction(files, self._done())

    def run(self, paths: Sequence[str] = (), *, progress: Progress = silent) -> ExtractionReport:
        """Send new and changed files, and store the facts of each answer as it arrives.

        Raises:
            UsageError: a pattern leaves the workspace.
            NotFoundError: no file matches.
            ProviderSetupError: no language model is configured, or its key is missing.

        """
        chat = prepared_chat(self.chat)
        plan = self.plan(paths)
        results: list[BatchResult] = []
        remembered: list[RememberReport] = []
        refused: list[str] = []
        for number, result in enumerate(ask(plan, chat), 1):
            results.append(result)
            for fact in result.facts:
                try:
                    remembered.append(
                        self.book.remember(**asdict(fact), provenance=Provenance.INGEST)
                    )
                except SecretError as error:
                    refused.append(f"A fact of {fact.source} was left out. {error}")
            self._mark_done(plan, result.completed)
            progress(Step("ask", number, len(plan.batches)))
        sent = {path for batch in plan.batches for path in batch.paths}
        self._mark_done(plan, [path for path in plan.files if path not in sent])
        return _report(plan, results, remembered, refused=refused)

    def _files(self, patterns: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for pattern in patterns:
            if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
                raise UsageError(
                    f"{pattern} leaves the workspace.", action="Name files inside the workspace."
                )
            for each in find_matching(self.workspace, pattern):
                with suppress(OSError):  # too large, or not readable
                    content = read_inside(Path(each.file), each.boundary, max_bytes=_MOST_BYTES)
                    text = content.decode("utf-8", errors="replace")
                    if not is_private(text):
                        found[each.path] = without_private(text)
        if not found:
            raise NotFoundError(
                f"No file of the workspace matches {', '.join(patterns)}.",
                action="Name others with --paths or the setting ingest.paths.",
            )
        return found

    def _done(self) -> dict[str, str]:
        try:
            done = json.loads(self.state.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except ValueError:
            done = None
        if not isinstance(done, dict):
            raise StoreError(
                f"{self.state}, the list of files that were sent already, is damaged.",
                action="Delete it; then every file is sent again.",
            )
        return {str(path): str(digest) for path, digest in done.items()}

    def _mark_done(self, plan: ExtractionPlan, paths: Sequence[str]) -> None:
        if digests := {path: plan.digests[path] for path in paths}:
            make_private_folder(self.state.parent)
            content = json.dumps({**self._done(), **digests}, ensure_ascii=False, indent=1)
            replace_file(self.state, content.encode(), private=True)


def _report(
    plan: ExtractionPlan,
    results: Sequence[BatchResult],
    remembered: Sequence[RememberReport],
    *,
    refused: Sequence[str],
) -> ExtractionReport:
    def having(*verdicts: Verdict) -> list[RememberReport]:
        return [each for each in remembered if each.decision.verdict in verdicts]

    known, forgotten = having(Verdict.EXISTING), having(Verdict.FORGOTTEN)
    stored = having(*{*Verdict} - {Verdict.EXISTING, Verdict.FORGOTTEN})
    return ExtractionReport(
        plan=plan,
        stored=len(stored),
        known=len(known),
        # By text, because blocks overlap.
        forgotten=tuple({each.fact.text: each.fact for each in forgotten}.values()),
        contradicting=tuple(having(Verdict.CONTRADICTS)),
        suspicious=sum(result.suspicious for result in results),
        skipped=sum(result.skipped for result in results),
        failures=tuple(result.failure for result in results if result.failure is not None),
        notices=(*refused, *(notice for each in stored for notice in each.notices)),
        input_tokens=sum(result.input_tokens for result in results),
        output_tokens=sum(result.output_tokens for result in results),
    )


def ask(plan: ExtractionPlan, chat: Chat) -> Iterator[BatchResult]:
    """Yield the result of each batch; only a failure that all would share stops the others."""
    failed: set[str] = set()
    hopeless: Degradation | None = None
    for batch in plan.batches:
        try:
            result = BatchResult(failure=hopeless) if hopeless else _answered(batch, chat)
        except ProviderError as error:
            result = BatchResult(failure=Degradation(error.message, error.action))
            if isinstance(error, (ProviderSetupError, QuotaError)):
                hopeless = result.failure
        if result.failure is not None:
            failed.update(batch.paths)
        completed = tuple(path for path in batch.completes if path not in failed)
        yield replace(result, completed=completed)


def _answered(batch: Batch, chat: Chat) -> BatchResult:
    answer = chat.complete(
        batch.prompt,
        system=SYSTEM,
        max_tokens=_OUTPUT_TOKENS,
        temperature=_TEMPERATURE,
        seconds=_BATCH_SECONDS,
    )
    read, skipped = parse_facts(answer.text)
    facts = tuple(located(read, batch.blocks))
    failure = None
    if not is_answer(answer.text):
        failure = _NO_JSON
    if not read and answer.is_cut:
        failure = _CUT_OFF
    return BatchResult(
        facts,
        skipped,
        len(read) - len(facts),
        failure=failure,
        input_tokens=batch.input_tokens if answer.input_tokens is None else answer.input_tokens,
        output_tokens=answer.output_tokens or 0,
    )
