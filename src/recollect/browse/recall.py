"""The block to put in front of a turn: what memory holds about a prompt, within a token budget.

Whatever a remembered text says, it stays inside the block: tags, fences and hidden characters are
neutralised, and the block says that its content is data, not instructions.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from recollect.errors import UsageError
from recollect.reports import Recalled, RecallForm
from recollect.text.safe import ID_CHARS, fence, fenced, neutralised, on_one_line
from recollect.text.size import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from recollect.types import Hit, Results

CANDIDATES = 15  # hits considered for a block; a budget seldom holds more
_SHORT_CHARS = 160
_REMARK = "If something may be out of date, say so."
_ANY_ID = "x" * ID_CHARS
_UNDERLINE = re.compile(r"=+|--+")


def recall_block(results: Results, *, budget_tokens: int, form: RecallForm) -> Recalled:
    """Return the block that shows these results within the budget.

    Raises:
        UsageError: the budget holds no block at all; the error names one that does.

    """
    # What does not stand out from noise is not worth a turn's attention.
    found = results.hits if results.confident else ()
    worthy = tuple(hit for hit in found if not hit.superseded_by)
    if outdated := len(found) - len(worthy):
        notice = f"Left out because a newer fact replaced what they say: {outdated} of the hits."
        results = replace(results, notices=(*results.notices, notice))
    least = _least_tokens(worthy, form)
    if budget_tokens < _tokens((), form):
        raise UsageError(
            f"A block does not fit into {budget_tokens} tokens.",
            action=f"Give a budget of {least} tokens or more.",
        )
    lines: list[str] = []
    shown: list[Hit] = []
    for hit in worthy:
        line = _fitting(hit, lines, form=form, budget_tokens=budget_tokens)
        if line is not None:
            lines.append(line)
            shown.append(hit)
    reason = ""
    if not lines:
        reason = _why_empty(results, worthy=worthy, budget_tokens=budget_tokens, least=least)
    block = fenced("\n".join(lines), form=form.value, remark=_REMARK) if lines else ""
    return Recalled(block, estimate_tokens(block), tuple(shown), results, reason)


def _why_empty(results: Results, *, worthy: Sequence[Hit], budget_tokens: int, least: int) -> str:
    if worthy:
        return f"Nothing fits into {budget_tokens} tokens: give a budget of {least} or more."
    if not results.hits:
        return "Memory holds nothing about this."
    if not results.confident:
        return "No hit stands out: the answer may not be in memory."
    return "A newer fact replaced everything that was found."


def _least_tokens(hits: Sequence[Hit], form: RecallForm) -> int:
    """Return the tokens of the shortest block with a hit in it, or of an empty one."""
    lines = [_FORMS[each](hit) for hit in hits for each in _as_short_as(form)]
    return min(
        (_tokens([line], form) for line in lines),
        default=_tokens((), form),
    )


def _as_short_as(form: RecallForm) -> list[RecallForm]:
    forms = list(RecallForm)
    return forms[forms.index(form) :]


def _fitting(hit: Hit, lines: Sequence[str], *, form: RecallForm, budget_tokens: int) -> str | None:
    """Return the hit in the fullest form that fits; a good hit in short is better than none."""
    for each in _as_short_as(form):
        line = _FORMS[each](hit)
        if _tokens([*lines, line], form) <= budget_tokens:
            return line
    return None


def _tokens(lines: Sequence[str], form: RecallForm) -> int:
    """Return the tokens of the block with these lines."""
    return estimate_tokens(fence("\n".join(lines), _ANY_ID, form=form.value, remark=_REMARK))


def _where(hit: Hit) -> str:
    day = f", {hit.date}" if hit.date else ""
    return f"[{on_one_line(hit.citation)}{_also(hit)}{day}]"


def _also(hit: Hit) -> str:
    """Return where else it is said, shortly: a block has little room."""
    if not hit.also_in:
        return ""
    more = f" and {len(hit.also_in) - 1} more" if hit.also_in[1:] else ""
    return f", also in {on_one_line(hit.also_in[0].citation)}{more}"


def _headings_above(hit: Hit) -> str:
    """Return the headings above the hit that its own lines do not show; a fact needs none."""
    if hit.fact is not None:
        return ""
    lines = [line.strip() for line in hit.snippet.split("\n")]
    own = {line.strip("# ") for line in lines if line.startswith("#")}
    own |= {line for line, below in pairwise(lines) if _UNDERLINE.fullmatch(below)}
    above = " > ".join(title for title in hit.heading if title not in own)
    return f" {on_one_line(above)}" if above else ""


def _full(hit: Hit) -> str:
    body = "\n".join(f"  {line}" for line in neutralised(hit.snippet).split("\n"))
    return f"- {_where(hit)}{_headings_above(hit)}\n{body}"


def _short(hit: Hit) -> str:
    words, above = on_one_line(hit.snippet), _headings_above(hit)
    place = f"{_where(hit)}{above}{':' if above else ''}"
    return f"- {place} {words[:_SHORT_CHARS]}{'…' if len(words) > _SHORT_CHARS else ''}"


def _index(hit: Hit) -> str:
    title = on_one_line(" > ".join(hit.heading) or hit.path)
    return f"- {_where(hit)} {title} ({estimate_tokens(hit.snippet)} tokens)"


_FORMS: dict[RecallForm, Callable[[Hit], str]] = {
    RecallForm.FULL: _full,
    RecallForm.SHORT: _short,
    RecallForm.INDEX: _index,
}
