"""What `eval` prints: tables that fit a hundred columns, and everything as JSON."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from recollect.evaluate.cases import count_text
from recollect.evaluate.metrics import DEPTH, FEW, MARKS
from recollect.evaluate.run import best_first
from recollect.shells.render.shared import plural, table, warning_lines
from recollect.text.safe import on_one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recollect.evaluate.metrics import Interval
    from recollect.evaluate.run import CaseAnswer, Evaluation, Outcome, Summary
    from recollect.evaluate.tidy import TidyReport
    from recollect.shells.render.shared import Line

_NAME_CHARS = 15  # longer names of kinds and variants are cut, so that the table fits
_MOST_FINDINGS = 20  # of each kind
_MISSES = 10  # questions listed; the rest is counted
_CONFIGURED = " *"


def evaluation_text(evaluation: Evaluation) -> Iterator[Line]:
    """Yield what `eval` prints: one variant by kind of question, or several side by side."""
    configured = evaluation.outcomes[0]
    cases = [answer.case for answer in configured.answers]
    yield f"{count_text(cases)}, from {evaluation.file}, asked of {evaluation.workspace}", ""
    yield "", ""
    if len(evaluation.outcomes) > 1:
        yield from _compared(evaluation)
    elif configured.overall is not None:
        yield from _by_kind(configured, k=evaluation.k)
    yield from _abstention(evaluation.outcomes)
    if wrong := sum(len(case.wrong) for case in cases):
        ranks = [rank for answer in configured.answers for rank in answer.wrong_ranks]
        shown = sum(rank <= evaluation.k for rank in ranks)
        yield f"{shown} of {wrong} wrong hits are still among the first {evaluation.k}.", ""
    yield "Means with 95% intervals; `recollect eval --help` explains them.", "dim"
    if 0 < sum(case.is_answerable for case in cases) < FEW:
        yield (
            f"Fewer than {FEW} questions have an answer: treat the intervals with caution.",
            "dim",
        )
    if len(evaluation.outcomes) == 1:
        yield from _misses(configured, k=evaluation.k)


def tidy_text(report: TidyReport) -> Iterator[Line]:
    """Yield what `tidy` prints: the findings by kind, the first of each."""
    for kind, own in groupby(report.findings, lambda each: each.kind):
        found = [*own]
        yield f"{kind}: {len(found)}", "bold"
        for each in found[:_MOST_FINDINGS]:
            yield f"  {on_one_line(each.place)} {on_one_line(each.reason)}", ""
            yield f"    → {on_one_line(each.action)}", "dim"
        if (more := len(found) - _MOST_FINDINGS) > 0:
            yield f"  … and {more} more, see --json", "dim"
    yield f"{plural(len(report.findings), 'finding')} in {plural(report.notes, 'note')}.", ""


def evaluation_remarks(evaluation: Evaluation) -> Iterator[Line]:
    """Yield what the user should know in addition to the numbers."""
    for warning in evaluation.warnings:
        yield warning, "yellow"
    if evaluation.warnings:
        action = "or use --workspace to name the workspace that has these places"
        yield f"  → Correct them in {evaluation.file}, {action}; they count as missed.", "yellow"
    if missing := evaluation.outcomes[0].lacking:
        count = f"{len(missing)} of {plural(evaluation.cases, 'case')}"
        yield f"The vector leg did not run for {count}.", "yellow"
        for why in dict.fromkeys(answer.degraded for answer in missing if answer.degraded):
            yield from warning_lines(why.reason, why.action, indent="  ")
        if not any(answer.degraded for answer in missing):
            yield "  → `recollect status --deep` shows which provider embeds, if any.", "yellow"


def interval_text(interval: Interval, *, sign: str = "") -> str:
    """Return a mean with its bounds: 0.82 [.75 .89]."""
    low, high = (_short(bound, sign) for bound in (interval.low, interval.high))
    return f"{interval.mean:{sign}.2f} [{low} {high}]"


def _table(rows: Sequence[Sequence[str]]) -> Iterator[Line]:
    """Yield rows as aligned columns, the header in bold."""
    (head, _), *lines = table(rows)
    yield head, "bold"
    yield from lines


def _by_kind(outcome: Outcome, *, k: int) -> Iterator[Line]:
    assert outcome.overall is not None  # noqa: S101 - checked by the caller
    rows = {"all": outcome.overall}
    if len(outcome.kinds) > 1:
        rows = {**outcome.kinds, **rows}
    yield from _table(
        [
            [outcome.variant.name, "cases", *(_head(name, k) for name in MARKS)],
            *(
                [_cut(kind), str(summary.cases), *_means(summary, MARKS)]
                for kind, summary in rows.items()
            ),
        ]
    )
    yield "", ""


def _compared(evaluation: Evaluation) -> Iterator[Line]:
    ranked = best_first(evaluation.outcomes)
    shown = ("hit", "recall", "mrr", "ndcg")
    rows = []
    for outcome in ranked:
        is_configured = outcome is evaluation.outcomes[0]
        name = f"{outcome.variant.name}{_CONFIGURED if is_configured else ''}"
        if outcome.overall is None:
            rows.append([name, "did not run" if not outcome.ran else "–", "", "", "", ""])
            continue
        gain = "–" if outcome.gain is None else interval_text(outcome.gain, sign="+")
        rows.append([name, *_means(outcome.overall, shown), gain])
    heads = [_head(name, evaluation.k) for name in shown]
    yield from _table([["", *heads, "nDCG@10 against *"], *rows])
    yield "", ""
    yield "* your current settings", "dim"
    yield "", ""


def _abstention(outcomes: Sequence[Outcome]) -> Iterator[Line]:
    if outcomes[0].abstention.refused is None:
        return
    rows = []
    for outcome in best_first(outcomes):
        own = outcome.abstention
        if own.refused is None or not outcome.ran:
            continue
        trusted = "–" if own.trusted is None else interval_text(own.trusted)
        auroc = "–" if own.auroc is None else f"{own.auroc:.2f}"
        rows.append([outcome.variant.name, trusted, interval_text(own.refused), auroc])
    yield from _table(
        [["", "confident, has answer", "not confident, no answer", "AUROC of best score"], *rows]
    )
    yield "", ""


def _misses(outcome: Outcome, *, k: int) -> Iterator[Line]:
    answers = [answer for answer in outcome.answers if answer.marks is not None]
    missed = [answer for answer in answers if answer.marks and not answer.marks.hit]
    late = [answer for answer in answers if answer not in missed and 1 not in answer.ranks]
    yield from _listed(missed, f"Not among the first {k} hits:")
    yield from _listed(late, "Found, but not first:")


def _listed(answers: Sequence[CaseAnswer], title: str) -> Iterator[Line]:
    """Yield questions with what was expected and what came first instead."""
    if not answers:
        return
    yield "", ""
    yield title, ""
    for answer in answers[:_MISSES]:
        wanted = ", ".join(place.citation for place in answer.case.expected)
        first = f"first came {answer.hits[0].citation}" if answer.hits else "nothing came"
        yield f"  line {answer.case.line}: {answer.case.query} → {wanted}; {first}", "dim"
    if len(answers) > _MISSES:
        yield f"  … and {len(answers) - _MISSES} more, see --json", "dim"


def _head(name: str, k: int) -> str:
    return {"mrr": f"MRR@{DEPTH}", "ndcg": f"nDCG@{DEPTH}"}.get(name, f"{name}@{k}")


def _means(summary: Summary, names: Sequence[str]) -> list[str]:
    return [interval_text(summary.marks[name]) for name in names]


def _short(bound: float, sign: str) -> str:
    text = f"{bound:{sign}.2f}"
    return text.replace("0.", ".", 1) if abs(bound) < 0.995 else text[:-1]  # noqa: PLR2004 - 1.0


def _cut(name: str) -> str:
    return name if len(name) <= _NAME_CHARS else f"{name[: _NAME_CHARS - 1]}…"
