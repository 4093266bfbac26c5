"""The block to put in front of a turn: what memory holds about a prompt, within a token budget.

Whatever a remembered text says, it stays inside the block: tags, fences and hidden characters are
neutralised, and the block says that its content is data, not instructions.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.errors import UsageError
from recollect.reports import Recalled, RecallForm
from recollect.text.excerpt import without_headings
from recollect.text.files import make_private_folder, replace_file
from recollect.text.safe import ID_CHARS, fence, fenced, neutralised, on_one_line
from recollect.text.size import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from recollect.types import Hit, Results

CANDIDATES = 15  # hits considered for a block; a budget seldom holds more
_SHORT_CHARS = 160
_REMARK = "If something may be out of date, say so."
_WEAK_REMARK = "Weak matches: read one if it may help, and answer only if it says it."
_MOST_WEAK = 3  # of an answer that is not confident, one line each
_RELATED_FROM = 0.1
"""The least probability of an answer from which weak matches are worth a line each."""
_KEPT_COSTS = 20
"""Recalls whose cost is kept."""
_ANY_ID = "x" * ID_CHARS


def recall_block(results: Results, *, budget_tokens: int, form: RecallForm) -> Recalled:
    """Return the block that shows these results within the budget."""
    found = results.hits if results.confident else ()
    worthy = tuple(hit for hit in found if not hit.superseded_by)
    if outdated := len(found) - len(worthy):
        notice = f"Left out because a newer fact replaced what they say: {outdated} of the hits."
        results = replace(results, notices=(*results.notices, notice))
    remark = _REMARK
    if not results.confident and results.confidence >= _RELATED_FROM:
        current = (hit for hit in results.hits if not hit.superseded_by)
        worthy, remark = tuple(current)[:_MOST_WEAK], _WEAK_REMARK
        form = RecallForm.SHORT if form is RecallForm.FULL else form
    least = _least_tokens(worthy, form, remark)
    if budget_tokens < _tokens((), form, remark):
        raise UsageError(
            f"A block does not fit into {budget_tokens} tokens.",
            action=f"Give a budget of {least} tokens or more.",
        )
    lines: list[str] = []
    shown: list[Hit] = []
    for hit in worthy:
        # The fullest form that fits: a good hit in short is better than none.
        forms = (_FORMS[each](hit) for each in _as_short_as(form))
        fits = (line for line in forms if _tokens([*lines, line], form, remark) <= budget_tokens)
        line = next(fits, None)
        if line is not None:
            lines.append(line)
            shown.append(hit)
    reason = ""
    if not lines:
        reason = _why_empty(results, worthy=worthy, budget_tokens=budget_tokens, least=least)
    block = fenced("\n".join(lines), form=form.value, remark=remark) if lines else ""
    return Recalled(block, estimate_tokens(block), tuple(shown), results, reason)


def costs_in(file: Path) -> tuple[int, ...]:
    """Return how many tokens the last recalls cost, as they were kept."""
    try:
        return tuple(map(int, file.read_text(encoding="ascii").split()))
    except (OSError, ValueError):
        return ()


def keep_cost(file: Path, tokens: int) -> None:
    """Keep how many tokens a recall cost, if the home can be written."""
    costs = (*costs_in(file), tokens)[-_KEPT_COSTS:]
    with suppress(OSError):
        make_private_folder(file.parent)
        replace_file(file, " ".join(map(str, costs)).encode(), private=True)


def _why_empty(results: Results, *, worthy: Sequence[Hit], budget_tokens: int, least: int) -> str:
    if worthy:
        return f"Nothing fits into {budget_tokens} tokens: give a budget of {least} or more."
    if not results.hits:
        return "Memory holds nothing about this."
    if not results.confident:
        return "This does not seem to be in memory."
    return "A newer fact replaced everything that was found."


def _least_tokens(hits: Sequence[Hit], form: RecallForm, remark: str) -> int:
    """Return the tokens of the shortest block with a hit in it, or of an empty one."""
    lines = [_FORMS[each](hit) for hit in hits for each in _as_short_as(form)]
    return min(
        (_tokens([line], form, remark) for line in lines),
        default=_tokens((), form, remark),
    )


def _as_short_as(form: RecallForm) -> list[RecallForm]:
    forms = list(RecallForm)
    return forms[forms.index(form) :]


def _tokens(lines: Sequence[str], form: RecallForm, remark: str) -> int:
    """Return the tokens of the block with these lines."""
    return estimate_tokens(fence("\n".join(lines), _ANY_ID, form=form.value, remark=remark))


def _where(hit: Hit) -> str:
    is_said = str(hit.date) in f"{hit.path} {_headings(hit)}"
    day = f", {hit.date}" if hit.date and not is_said else ""
    against = "".join(f", contradicted by {on_one_line(each)}" for each in hit.contradicts)
    return f"[{on_one_line(hit.citation)}{_also(hit)}{day}{against}]"


def _also(hit: Hit) -> str:
    """Return where else it is said, shortly: a block has little room."""
    if not hit.also_in:
        return ""
    more = f" and {len(hit.also_in) - 1} more" if hit.also_in[1:] else ""
    return f", also in {on_one_line(hit.also_in[0].citation)}{more}"


def _headings(hit: Hit) -> str:
    """Return the headings of a hit that its path does not say; a fact needs none."""
    return on_one_line(hit.title) if hit.fact is None else ""


def _body(hit: Hit) -> str:
    return without_headings(hit.snippet, hit.heading) if hit.heading else hit.snippet


def _full(hit: Hit) -> str:
    body = "\n".join(f"  {line}" for line in neutralised(_body(hit)).split("\n"))
    return f"- {_where(hit)} {_headings(hit)}".rstrip() + f"\n{body}"


def _short(hit: Hit) -> str:
    words, above = on_one_line(hit.sentence or _body(hit)), _headings(hit)
    place = f"{_where(hit)} {above}{':' if above else ''}".rstrip()
    return f"- {place} {words[:_SHORT_CHARS]}{'…' if len(words) > _SHORT_CHARS else ''}"


def _index(hit: Hit) -> str:
    return f"- {_where(hit)} {_headings(hit)} ({estimate_tokens(hit.snippet)} tokens)"


_FORMS: dict[RecallForm, Callable[[Hit], str]] = {
    RecallForm.FULL: _full,
    RecallForm.SHORT: _short,
    RecallForm.INDEX: _index,
}
