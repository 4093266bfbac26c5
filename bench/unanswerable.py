"""Measure what memory says of questions that it cannot answer, and whether `recall` speaks up.

usage: python bench/unanswerable.py [--half even|odd] [--questions N] [SET …]

Every memory is asked its own questions; those about what its notes leave out (absent); its own with
a name replaced by one of another memory (foreign name) or by another one of this memory (own name;
of a conversation, the other speaker); and every second question of the next memory (stranger).
Prints the share that is confident, with the AUROC of the answerable against the others, and by kind
of question how often the block of `recall` holds an answer. With --half only every second memory
(of LoCoMo: conversation) is asked: what is chosen on one half is reported on the other.
"""

from __future__ import annotations

import argparse
import os
import re
import zlib
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).parent
os.environ["RECOLLECT_HOME"] = str(HERE / ".cache" / "home")

from sets import AUTHORED, HELD_OUT, Limits, load_set  # noqa: E402 - the home must be set before

from recollect import Memory  # noqa: E402
from recollect.evaluate.metrics import auroc  # noqa: E402
from recollect.reports import RECALL_TOKENS  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sets import Question, Scoped

NAMES = (*AUTHORED, HELD_OUT, "locomo_turns", "locomo_sessions")
GROUPS = ("answerable", "absent", "foreign name", "own name", "stranger")
NOT_EXPECTED = "adversarial"  # a kind of LoCoMo that is neither answerable nor not
QUESTIONS = 400  # of a set
HALVES = {"even": 0, "odd": 1}
_IN_SENTENCE = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}\b")
_SPEAKER = re.compile(r"^([A-Z][a-z]+):", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Answer:
    """What memory said to one question."""

    group: str
    kind: str
    confidence: float
    is_confident: bool
    has_block: bool
    """Whether `recall` showed anything."""
    holds_answer: bool
    """Whether what it showed has a right document."""


def names_of(scoped: Scoped) -> list[str]:
    """Return the speakers of a conversation, or the names that several notes have in sentences."""
    texts = [(scoped.workspace / path).read_text(encoding="utf-8") for path in scoped.documents]
    whole = "\n".join(texts)
    said = Counter(_SPEAKER.findall(whole))
    if scoped.name.startswith("locomo"):
        return [name for name, _ in said.most_common(2)]
    counts = Counter(name for text in texts for name in set(_IN_SENTENCE.findall(text)))
    small = set(re.findall(r"\b[a-z]+\b", whole))
    return [name for name, count in counts.items() if count > 1 and name.lower() not in small]


def asking_of(question: Question, own: Sequence[str], others: Sequence[str]) -> Question | None:
    """Return the question about somebody else, if it names exactly one of the memory's names."""
    named = [name for name in own if re.search(rf"\b{name}\b", question.text)]
    others = [name for name in others if name not in named]
    if len(named) != 1 or not others:
        return None
    other = others[zlib.crc32(question.text.encode()) % len(others)]
    return replace(question, text=re.sub(rf"\b{named[0]}\b", other, question.text))


def asked(scoped: Scoped, following: Scoped | None) -> Iterator[tuple[str, Question]]:
    """Yield the questions of one memory by group."""
    questions = [each for each in scoped.questions if each.kind != NOT_EXPECTED]
    names = names_of(scoped)
    foreign = [each for each in names_of(following) if each not in names] if following else []
    for question in questions:
        yield ("answerable" if question.grades else "absent"), question
        if not question.grades:
            continue
        for group, others in (("foreign name", foreign), ("own name", names)):
            if (swapped := asking_of(question, names, others)) is not None:
                yield group, swapped
    if following is not None:
        strangers = [each for each in following.questions if each.kind != NOT_EXPECTED]
        yield from (("stranger", each) for each in strangers[::2])


def answers(scoped: Scoped, following: Scoped | None) -> Iterator[Answer]:
    """Ask one memory."""
    with Memory.open(scoped.workspace) as memory:
        memory.sync()
        for group, question in asked(scoped, following):
            request = replace(memory.parts.recall_request(question.text), sync=False)
            recalled = memory.parts.recall_from(memory.answer(request), budget_tokens=RECALL_TOKENS)
            results = recalled.results
            shown = {scoped.documents.get(hit.path) for hit in recalled.hits}
            yield Answer(
                group=group,
                kind=question.kind,
                confidence=results.confidence,
                is_confident=results.confident,
                has_block=bool(recalled.hits),
                holds_answer=not shown.isdisjoint(question.grades),
            )


def measure(name: str, *, limits: Limits, half: int | None) -> list[Answer]:
    """Return the answers of all memories of a set; the last one's stranger asks of the first."""
    scopes = load_set(name, limits)
    after = [*scopes[1:], scopes[0] if len(scopes) > 1 else None]
    if name in AUTHORED:
        after = [load_set(other)[0] for other in AUTHORED if other != name]
    chosen = list(zip(scopes, after, strict=True))[half or 0 :: 1 if half is None else 2]
    return [answer for scoped, following in chosen for answer in answers(scoped, following)]


def confident_row(name: str, found: Sequence[Answer]) -> str:
    """Return the share of confident answers in each group, of how many, and the AUROC."""
    own = [each.confidence for each in found if each.group == "answerable"]
    cells = []
    for group in GROUPS:
        of_group = [each for each in found if each.group == group]
        if not of_group:
            cells.append("")
            continue
        share = 100 * sum(each.is_confident for each in of_group) / len(of_group)
        area = auroc(own, [each.confidence for each in of_group])
        told = "" if group == "answerable" else f" ({area:.2f})"
        cells.append(f"{share:.0f} % of {len(of_group)}{told}")
    return f"| {name} | {' | '.join(cells)} |"


def recall_rows(name: str, found: Sequence[Answer]) -> Iterator[str]:
    """Yield for each kind of question how often a block is shown and holds an answer."""
    kinds: dict[str, list[Answer]] = defaultdict(list)
    for each in found:
        if each.group in ("answerable", "absent"):
            kinds[each.kind].append(each)
    for kind, row in sorted(kinds.items()):
        shown = 100 * sum(each.has_block for each in row) / len(row)
        holds = 100 * sum(each.holds_answer for each in row) / len(row)
        yield f"| {name} | {kind} | {len(row)} | {shown:.0f} % | {holds:.0f} % |"


def main() -> None:
    """Measure the sets and print both tables."""
    parser = argparse.ArgumentParser(prog="python bench/unanswerable.py")
    parser.add_argument("sets", nargs="*", default=NAMES)
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    given = parser.parse_args()
    found = {}
    print(f"| set | {' | '.join(GROUPS)} |\n| --- |{' --- |' * len(GROUPS)}")
    for name in given.sets:
        limits = Limits(questions=None if name == HELD_OUT else given.questions)
        half = None if given.half is None else HALVES[given.half]
        found[name] = measure(name, limits=limits, half=half)
        print(confident_row(name, found[name]), flush=True)
    print(
        "\n| set | kind | questions | a block | holds an answer |\n| --- | --- | --- | --- | --- |"
    )
    for name, answered in found.items():
        print("\n".join(recall_rows(name, answered)))


if __name__ == "__main__":
    main()
