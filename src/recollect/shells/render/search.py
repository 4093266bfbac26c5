"""What `search`, `recall` and `get` print."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from recollect.shells.render.shared import plural, table, warning_lines
from recollect.text.days import local_day
from recollect.text.excerpt import without_headings
from recollect.types import Leg, Mode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.reports import Documents, Excerpt, Recalled, Why
    from recollect.shells.render.shared import Line, MarkedLine
    from recollect.types import Hit, Results, Trace

_MOST_ROWS = 3  # of a hit
_MOST_WEAK = 3  # weak hits whose best sentence is shown whole, the others have a line
_SCREEN_ROWS = 21
"""Rows of a terminal of 24 lines, without the prompt and two notices."""
_LEAST_ROOM = 12  # for a heading
_NAMED = 5  # other places of one hit that the text names; --json has all


def excerpt_remarks(excerpt: Excerpt) -> Iterator[Line]:
    """Yield where to read on, or that there is nothing to read."""
    if not excerpt.lines:
        yield f"{excerpt.path} has no line {excerpt.start_line}.", ""
    elif excerpt.next_line is not None:
        yield f"There is more: {excerpt.path}:{excerpt.next_line}", ""


def recalled_remarks(recalled: Recalled) -> Iterator[Line]:
    """Yield what the user should know in addition to the block: why there is none."""
    yield from results_remarks(recalled.results)
    if recalled.reason:
        yield recalled.reason, "yellow"


def results_text(results: Results, *, width: int, verbose: bool = False) -> Iterator[MarkedLine]:
    """Yield what `search` prints: per hit a few lines around what matched, or whole chunks."""
    if not results.hits:
        yield "No matches.", ""
    elif results.is_compact:
        yield from (_weak_line(hit, width=width, is_titled=True) for hit in results.hits)
    elif verbose:
        yield from _whole_hits(results)
    elif not results.confident and results.hits[0].trace is None:
        yield "This does not seem to be in memory. Weak matches:", "yellow"
        yield from _short_hits(results, width=width, most=_MOST_WEAK)
        yield from (_weak_line(hit, width=width) for hit in results.hits[_MOST_WEAK:])
    else:
        yield from _short_hits(results, width=width)


def why_text(why: Why) -> Iterator[Line]:
    """Yield what `search --why` prints."""
    is_at = f"is hit {why.shown}" if why.shown else "is not shown"
    yield f"{why.path} {is_at}{':' if why.reason else '.'} {why.reason}".rstrip(), "bold"
    if why.hit is not None and why.hit.trace is not None:
        yield f"{why.hit.citation} is candidate {why.place} of {why.candidates}.", ""
        yield from trace_text(why.hit.trace)


def documents_text(found: Documents, *, hint: str = "") -> Iterator[Line]:
    """Yield what `search` prints without a query: a line for each note."""
    if not found.documents:
        yield f"No notes match these filters. {hint}".rstrip(), ""
    yield from table(
        (each.path, each.title or "", str(each.date or "")) for each in found.documents
    )
    if more := found.total - len(found.documents):
        yield f"{more} more: raise -n.", "dim"


def _short_hits(results: Results, *, width: int, most: int | None = None) -> Iterator[MarkedLine]:
    """Yield so few lines that the best of six hits, the first, does not scroll off the screen."""
    from recollect.shells.render.snippet import snippet_rows  # noqa: PLC0415

    each = _SCREEN_ROWS // len(results.hits)
    has_own_line = each >= _MOST_ROWS + 2
    count = max(1, min(_MOST_ROWS, each - 1))
    for hit in results.hits[:most]:
        place, heading = _place(hit), hit.title
        if has_own_line or not heading:
            yield place, "bold"
        else:  # where lines are scarce
            yield [(place, "bold"), (_fitted(f"  {heading}", width - len(place)), "cyan")], ""
        yield from _hit_remarks(hit)
        if has_own_line and heading:
            yield heading, "cyan"
        rows = snippet_rows(hit, wanted=results.terms, width=width, count=count)
        yield from ((row, "") for row in rows)


def _place(hit: Hit) -> str:
    return f"{hit.score:.3f} {hit.path}:{hit.start_line}-{hit.end_line}"


def _weak_line(hit: Hit, *, width: int, is_titled: bool = False) -> MarkedLine:
    place = _place(hit)
    says = " ".join((hit.sentence or without_headings(hit.snippet, hit.heading)).split())
    says = f"{hit.title}: {says}" if is_titled and hit.title else says
    return [(place, ""), (_fitted(f"  {says}", width - len(place)), "dim")], ""


def _fitted(text: str, room: int) -> str:
    """Return the text, or what fits of it, or nothing if that is too little."""
    if len(text) <= room:
        return text
    return f"{text[: room - 1]}…" if room > _LEAST_ROOM else ""


def _whole_hits(results: Results) -> Iterator[Line]:
    for hit in results.hits:
        yield _place(hit), "bold"
        yield from _hit_remarks(hit)
        if hit.title:
            yield hit.title, "cyan"
        for line in (hit.text or hit.snippet).split("\n"):
            yield line, ""
        yield "", ""


def _hit_remarks(hit: Hit) -> Iterator[Line]:
    """Yield what else is known of a hit, most often nothing."""
    if hit.speaker:
        yield f"{hit.speaker.replace(',', ', ')}, {hit.moment}", "cyan"
    if hit.fact is not None and hit.fact.superseded_by:
        yield f"superseded by {hit.fact.superseded_by}", "yellow"
    for other in hit.contradicts:
        yield f"contradicted by {other}", "yellow"
    if hit.superseded_by:
        yield f"outdated: superseded by {hit.superseded_by}", "yellow"
    if hit.valid_until is not None:
        yield validity_text(hit.valid_until), "yellow"
    if hit.also_in:
        yield f"also in {also_in_text(hit)}", "cyan"
    if hit.links:
        yield f"links to {', '.join(hit.links)}", "cyan"
    if hit.backlinks:
        yield f"linked from {', '.join(hit.backlinks)}", "cyan"
    if hit.trace is not None:
        yield from trace_text(hit.trace)


def validity_text(until: datetime) -> str:
    """Return until when a note is valid, or when it expired."""
    last_day = local_day(until - datetime.resolution)
    return f"{'expired after' if until <= datetime.now(tz=UTC) else 'valid until'} {last_day}"


def also_in_text(hit: Hit) -> str:
    """Return where else it is said: the first few, and how many more."""
    named = [f"{each.path}:{each.start_line}-{each.end_line}" for each in hit.also_in[:_NAMED]]
    more = len(hit.also_in) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def trace_text(trace: Trace) -> Iterator[Line]:
    """Yield how a hit's score was computed."""
    for name, leg in trace.legs.items():
        numbers = f"rank {leg.rank}, raw {leg.raw:.3f}, normalised {leg.normalised:.3f}"
        yield f"  {name:8} +{leg.contribution:.3f}  {numbers}", "dim"
    for stage in ("source", "exact", "decay", "rerank"):
        if change := getattr(trace, stage):
            age = f"  {plural(trace.age_days or 0, 'day')} old" if stage == "decay" else ""
            yield f"  {stage:8} {change:+.3f}{age}", "dim"
    if trace.similarity is not None:
        yield f"  similarity to the hits above {trace.similarity:.3f}", "dim"


def results_remarks(results: Results) -> Iterator[Line]:
    """Yield what the user should know in addition to the hits."""
    for notice in results.notices:
        yield notice, "yellow"
    for leg, why in (results.degraded or {}).items():
        what = _what_failed(leg, results)
        yield from warning_lines(f"{what}: {_continued(why.reason)}", why.action)


def _what_failed(leg: str, results: Results) -> str:
    if leg == "rerank":
        return "Not reranked"
    if leg == "hyde":
        return "No hypothetical answer was generated"
    if leg == "expand":
        return "The query was not expanded"
    if leg == Leg.VECTOR and results.mode is not Mode.KEYWORD:
        return "The configured provider did not answer"
    return "Searched by keyword only" if leg == Leg.VECTOR else f"The {leg} leg did not run"


def _continued(reason: str) -> str:
    """Return a sentence as it continues another one, after a colon."""
    return f"the {reason.removeprefix('The ')}" if reason.startswith("The ") else reason
