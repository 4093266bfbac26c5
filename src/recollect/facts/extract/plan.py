"""What an extraction would send: which files changed, in which batches, at what cost.

Nothing is asked here, so a dry run is a look at the plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.facts.extract.blocks import blocks_of
from recollect.facts.extract.prompt import SYSTEM, prompt_of
from recollect.text.size import estimate_tokens
from recollect.types import digest_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recollect.facts.extract.blocks import Block
    from recollect.providers.base import Price

_OUTPUT_SHARE = 0.5
"""Of what is sent that comes back, roughly: each fact is a sentence and its fields once more."""


@dataclass(frozen=True, slots=True)
class ExtractOptions:
    """How files are cut and sent."""

    block_chars: int = 800
    overlap_chars: int = 100
    batch_tokens: int = 4000
    """Of files in one request, by our own estimate; more would make answers that are cut."""
    output_tokens: int = 8000
    """The most one answer may have: twice what is sent, so that it is hardly ever cut."""
    temperature: float = 0.2
    batch_seconds: float = 300.0
    """One batch, all attempts together."""
    price: Price | None = None
    """Of the model that will be asked; None is unknown or free."""


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file whose facts are to be extracted."""

    path: str
    digest: str
    """Of its text: what the state holds once the file is done."""
    is_new: bool
    """False when the state knows another digest: the file changed."""
    block_count: int
    """0 for a blank file, which is done without being sent."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What one request sends."""

    number: int
    """From 1."""
    blocks: tuple[Block, ...]
    prompt: str
    input_tokens: int
    """Estimated, with what the model is told."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the files it holds some of, each once."""
        return tuple(dict.fromkeys(block.path for block in self.blocks))


@dataclass(frozen=True, slots=True)
class Plan:
    """What an extraction would do."""

    files: tuple[PlannedFile, ...]
    unchanged: tuple[str, ...]
    batches: tuple[Batch, ...]
    options: ExtractOptions
    input_tokens: int
    output_tokens: int
    """Both estimated."""
    cost: float | None
    """In US dollars, estimated; None where no price is known or nothing is paid."""


def digest_of_text(text: str) -> str:
    """Return what the state keeps of a file: equal texts are never sent twice."""
    return digest_of(text.encode("utf-8", "surrogatepass"))


def plan_extraction(
    files: Mapping[str, str], state: Mapping[str, str], options: ExtractOptions
) -> Plan:
    """Return what is to be sent of these files.

    Args:
        files: the texts by path.
        state: the digests of the files that were done, by path.
        options: how they are cut.

    Raises:
        UsageError: blocks cannot overlap as much as the options say.

    """
    planned: list[PlannedFile] = []
    unchanged: list[str] = []
    blocks: list[list[Block]] = []
    for path, text in sorted(files.items()):
        digest = digest_of_text(text)
        if state.get(path) == digest:
            unchanged.append(path)
            continue
        own = blocks_of(
            path, text, block_chars=options.block_chars, overlap_chars=options.overlap_chars
        )
        planned.append(PlannedFile(path, digest, path not in state, len(own)))
        blocks.append(own)
    batches = tuple(
        _batch(number, packed)
        for number, packed in enumerate(_packed(blocks, tokens=options.batch_tokens), start=1)
    )
    input_tokens = sum(batch.input_tokens for batch in batches)
    output_tokens = sum(_output_tokens(batch, options) for batch in batches)
    price = options.price
    return Plan(
        tuple(planned),
        tuple(unchanged),
        batches,
        options,
        input_tokens,
        output_tokens,
        price.of(input_tokens=input_tokens, output_tokens=output_tokens) if price else None,
    )


def _packed(files: Sequence[Sequence[Block]], *, tokens: int) -> list[list[Block]]:
    """Return batches of blocks; a file that fits into one batch is not split over two.

    What is under way when a run is killed is sent again: the fewer files share a batch's fate with
    another batch, the less that is.
    """
    batches: list[list[Block]] = []
    room = 0
    for blocks in files:
        sizes = [estimate_tokens(block.shown) for block in blocks]
        if room < sum(sizes) <= tokens:
            room = 0
        for block, size in zip(blocks, sizes, strict=True):
            if size > room:
                batches.append([])
                room = tokens
            batches[-1].append(block)
            room -= size
    return batches


def _batch(number: int, blocks: Sequence[Block]) -> Batch:
    prompt = prompt_of(blocks)
    return Batch(number, tuple(blocks), prompt, estimate_tokens(SYSTEM) + estimate_tokens(prompt))


def _output_tokens(batch: Batch, options: ExtractOptions) -> int:
    sent = sum(estimate_tokens(block.text) for block in batch.blocks)
    return min(int(sent * _OUTPUT_SHARE) + 1, options.output_tokens)
