"""Asks a language model about the batches of a plan, one call per batch.

    files ─ plan ─▶ Batches ─ ask ─▶ answers ─ parse ─▶ ProposedFacts ─ locate ─▶ BatchResults

Nothing is stored here: each result is yielded as soon as it exists, with the files that it
completes. A caller that stores the facts and the digests of those files can be killed at any moment
and continues where it stopped.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.errors import ProviderError, ProviderSetupError, QuotaError
from recollect.facts.extract.answer import is_answer, locate, parse_facts
from recollect.facts.extract.plan import SYSTEM
from recollect.records import dataclass
from recollect.text.scripts import normalised
from recollect.types import Degradation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from recollect.facts.extract.answer import ProposedFact
    from recollect.facts.extract.options import ExtractOptions
    from recollect.facts.extract.plan import Batch, ExtractionPlan, PlannedFile
    from recollect.providers.base import Chat

_CUT_OFF = Degradation(
    "the model's answer was cut off before it contained a fact",
    "Choose a model without reasoning, or smaller batches.",
)
_NO_JSON = Degradation(
    "the model's answer contains no JSON", "Run it again, or choose another model."
)


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The outcome of one batch."""

    batch: Batch
    facts: tuple[ProposedFact, ...] = ()
    skipped: int = 0
    """Lines of the answer that are not usable, or repeat a fact."""
    completed: tuple[PlannedFile, ...] = ()
    """Files of which every block is now answered; none after a failure."""
    failure: Degradation | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    """Tokens of the answer as the vendor counts them, or else estimated."""


def ask(plan: ExtractionPlan, chat: Chat) -> Iterator[BatchResult]:
    """Yield the result of each batch; a failed batch does not stop the others.

    A failure that every batch would share, such as a missing key, is not tried again.
    """
    files = {file.path: file for file in plan.files}
    awaited = Counter(path for batch in plan.batches for path in batch.paths)
    seen: set[str] = set()
    hopeless: Degradation | None = None
    for batch in plan.batches:
        if hopeless is not None:
            yield BatchResult(batch, failure=hopeless)
            continue
        try:
            result = _answered(batch, chat, options=plan.options)
        except ProviderError as error:
            result = BatchResult(batch, failure=Degradation(error.message, error.action))
            if isinstance(error, (ProviderSetupError, QuotaError)):
                hopeless = result.failure
        if result.failure is None:  # a failed batch leaves its files incomplete
            awaited.subtract(batch.paths)
            fresh = tuple(_fresh(result.facts, seen))
            result = replace(
                result,
                facts=fresh,
                skipped=result.skipped + len(result.facts) - len(fresh),
                completed=tuple(files[path] for path in batch.paths if awaited[path] <= 0),
            )
        yield result


def _answered(batch: Batch, chat: Chat, *, options: ExtractOptions) -> BatchResult:
    answer = chat.complete(
        batch.prompt,
        system=SYSTEM,
        max_tokens=options.output_tokens,
        temperature=options.temperature,
        seconds=options.batch_seconds,
    )
    facts, skipped = parse_facts(answer.text)
    failure = None
    if not facts and answer.is_cut:
        failure = _CUT_OFF
    elif not is_answer(answer.text):
        failure = _NO_JSON
    return BatchResult(
        batch,
        tuple(locate(facts, batch.blocks)) if failure is None else (),
        skipped if failure is None else 0,
        failure=failure,
        input_tokens=batch.input_tokens if answer.input_tokens is None else answer.input_tokens,
        output_tokens=answer.output_tokens or 0,
    )


def _fresh(facts: Iterable[ProposedFact], seen: set[str]) -> Iterator[ProposedFact]:
    """Yield the facts that no earlier batch yielded: blocks overlap."""
    for fact in facts:
        identity = normalised(fact.text)
        if identity not in seen:
            yield fact
        seen.add(identity)
