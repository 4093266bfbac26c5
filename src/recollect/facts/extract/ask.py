"""Extracting facts from files with a language model, batch by batch.

    files ─ plan ─▶ Batches ─ ask ─▶ answers ─ parse ─▶ Drafts ─ place ─▶ BatchResults

It stores nothing: each batch's result is handed out as soon as it is there, with the files that are
complete by it. Whoever stores the drafts and those files' digests can be killed at any moment and
goes on where it stopped.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.errors import ProviderError, ProviderSetupError, QuotaError
from recollect.facts.extract.parse import REPEATED, Draft, Skipped, is_answer, parse_facts
from recollect.facts.extract.place import placed
from recollect.facts.extract.plan import (
    Batch,
    ExtractOptions,
    Plan,
    PlannedFile,
    digest_of_text,
    plan_extraction,
)
from recollect.facts.extract.prompt import SYSTEM
from recollect.text.scripts import normalised
from recollect.types import Degradation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from recollect.providers.base import Chat, Completion

__all__ = [
    "Batch",
    "BatchResult",
    "Draft",
    "ExtractOptions",
    "Extraction",
    "Plan",
    "PlannedFile",
    "Skipped",
    "digest_of_text",
    "extract",
    "parse_facts",
    "plan_extraction",
]

_CUT = Degradation(
    "the model's answer was cut before it held a fact",
    "Choose a model that does not think, or smaller batches.",
)
_NO_FORM = Degradation("the model's answer holds no JSON", "Run it again, or choose another model.")


@dataclass(frozen=True, slots=True)
class BatchResult:
    """How one batch ended."""

    batch: Batch
    drafts: tuple[Draft, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    completed: tuple[PlannedFile, ...] = ()
    """Files of which every block has been answered by now; none after a failure."""
    failure: Degradation | None = None
    was_asked: bool = True
    """False when an earlier batch failed in a way that all others would."""
    is_cut: bool = False
    """True when the answer ended before the model was done: some facts may be missing."""
    input_tokens: int = 0
    output_tokens: int = 0
    """As the vendor counts them, else our estimate."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """What an extraction did."""

    results: tuple[BatchResult, ...]
    completed: tuple[PlannedFile, ...]
    """Blank files too, which are not sent."""
    incomplete: tuple[PlannedFile, ...]
    """To be sent again: a batch of theirs failed."""
    input_tokens: int
    output_tokens: int
    cost: float | None
    """In US dollars, by the plan's price."""


def extract(plan: Plan, chat: Chat, done: Callable[[BatchResult], None]) -> Extraction:
    """Ask the model about each batch, one call a batch; a failed one does not stop the others.

    Args:
        plan: what is sent.
        chat: who is asked; nobody when the plan holds no batch.
        done: is given each result as soon as it is there, and may store it.

    """
    run = _Run(plan, chat)
    for batch in plan.batches:
        done(run.result_of(batch))
    return run.report()


class _Run:
    """What one extraction remembers from batch to batch."""

    def __init__(self, plan: Plan, chat: Chat) -> None:
        self._plan = plan
        self._chat = chat
        self._files = {file.path: file for file in plan.files}
        self._awaited = Counter(path for batch in plan.batches for path in batch.paths)
        self._failed: set[str] = set()
        self._seen: set[str] = set()
        self._hopeless: Degradation | None = None
        self._results: list[BatchResult] = []

    def result_of(self, batch: Batch) -> BatchResult:
        if self._hopeless is not None:
            result = self._failure(batch, self._hopeless, was_asked=False)
        else:
            result = self._asked(batch)
        self._results.append(result)
        return result

    def report(self) -> Extraction:
        files, price = self._plan.files, self._plan.options.price
        input_tokens = sum(result.input_tokens for result in self._results)
        output_tokens = sum(result.output_tokens for result in self._results)
        return Extraction(
            tuple(self._results),
            tuple(file for file in files if self._is_complete(file.path)),
            tuple(file for file in files if not self._is_complete(file.path)),
            input_tokens,
            output_tokens,
            price.of(input_tokens=input_tokens, output_tokens=output_tokens) if price else None,
        )

    def _asked(self, batch: Batch) -> BatchResult:
        options = self._plan.options
        try:
            answer = self._chat.complete(
                batch.prompt,
                system=SYSTEM,
                max_tokens=options.output_tokens,
                temperature=options.temperature,
                seconds=options.batch_seconds,
            )
        except ProviderError as error:
            failure = Degradation(error.message, error.action)
            if isinstance(error, (ProviderSetupError, QuotaError)):
                self._hopeless = failure
            return self._failure(batch, failure)
        drafts, skipped = parse_facts(answer.text)
        if not drafts and answer.is_cut:
            return self._failure(batch, _CUT, answer=answer)
        if not is_answer(answer.text):
            return self._failure(batch, _NO_FORM, answer=answer)
        fresh, repeated = self._fresh(placed(drafts, batch.blocks))
        self._awaited.subtract(batch.paths)
        return BatchResult(
            batch,
            tuple(fresh),
            (*skipped, *repeated),
            tuple(self._files[path] for path in batch.paths if self._is_complete(path)),
            is_cut=answer.is_cut,
            input_tokens=_known(answer.input_tokens, batch.input_tokens),
            output_tokens=_known(answer.output_tokens, 0),
        )

    def _failure(
        self,
        batch: Batch,
        failure: Degradation,
        *,
        was_asked: bool = True,
        answer: Completion | None = None,
    ) -> BatchResult:
        self._failed.update(batch.paths)
        return BatchResult(
            batch,
            failure=failure,
            was_asked=was_asked,
            is_cut=answer is not None and answer.is_cut,
            input_tokens=_known(answer.input_tokens, batch.input_tokens) if answer else 0,
            output_tokens=_known(answer.output_tokens, 0) if answer else 0,
        )

    def _is_complete(self, path: str) -> bool:
        return self._awaited[path] <= 0 and path not in self._failed

    def _fresh(self, drafts: Iterable[Draft]) -> tuple[list[Draft], list[Skipped]]:
        """Return the drafts that no earlier batch gave, and the others: blocks overlap."""
        fresh: list[Draft] = []
        repeated: list[Skipped] = []
        for draft in drafts:
            identity = normalised(draft.text)
            if identity in self._seen:
                repeated.append(Skipped(REPEATED, draft.text))
            else:
                fresh.append(draft)
            self._seen.add(identity)
        return fresh, repeated


def _known(counted: int | None, estimated: int) -> int:
    return estimated if counted is None else counted
