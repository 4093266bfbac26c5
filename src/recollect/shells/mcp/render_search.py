"""What a search answers: OpenClaw's shape, and a text; as many hits as there are tokens for."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recollect.shells.mcp.render import CLOSE, FRAME_TOKENS, OPEN, Answer
from recollect.shells.mcp.uri import uri_of
from recollect.shells.render import search as render
from recollect.text.safe import neutralised, on_one_line
from recollect.text.size import estimate_tokens
from recollect.types import HEADING_SEPARATOR, Leg, Mode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recollect.errors import RecollectError
    from recollect.shells.mcp.render import Shape
    from recollect.types import Hit, Results

_NOTICES = 5  # said in full
_NOTICE_CHARS = 300
_NAMED = 5  # of the hits left out, named
_SHORT_CHARS = 200
_SOON = "Ask again in a moment."


@dataclass(frozen=True, slots=True)
class _Fitted:
    shapes: list[Shape]
    lines: list[str]
    left_out: list[Hit]
    is_shortened: bool


def searched(
    results: Results,
    *,
    max_tokens: int,
    notices: Sequence[str],
    is_partial: bool,
    narrowed: Sequence[str] = (),
) -> Answer:
    """Return the answer of memory_search; `narrowed` names the arguments that kept hits out."""
    frame, troubles = _frame(results, notices, is_partial=is_partial, narrowed=narrowed)
    spent = max(estimate_tokens(json.dumps(frame)), sum(map(estimate_tokens, troubles)))
    fitted = _fit(results.hits, max_tokens=max_tokens - spent - FRAME_TOKENS)
    shape: Shape = {"results": fitted.shapes, **frame}
    if fitted.left_out:
        shape["leftOut"] = len(fitted.left_out)
    if fitted.is_shortened:
        shape["shortened"] = True
    return Answer(shape, "\n".join(_search_text(results, fitted, troubles, max_tokens)))


def connector_results(
    results: Results, *, max_tokens: int, notices: Sequence[str], is_partial: bool
) -> Shape:
    """Return the answer of search, in the shape of ChatGPT's connectors."""
    _, troubles = _frame(results, notices, is_partial=is_partial, narrowed=())
    spent = sum(map(estimate_tokens, troubles))
    fitted = _fit(results.hits, max_tokens=max_tokens - spent - FRAME_TOKENS)
    warning = {"warning": " ".join(troubles)} if troubles else {}
    return {
        "results": [
            {
                "id": shape["citation"],
                "title": _title(shape),
                "url": uri_of(str(shape["citation"])),
                "text": shape["snippet"],
            }
            for shape in fitted.shapes
        ],
        **warning,
    }


def noticed(results: Results, notice: str) -> Results:
    """Return the results with something more to say."""
    return replace(results, notices=(*results.notices, notice))


def unavailable(error: RecollectError) -> Answer:
    """Return the answer of memory_search when there is none."""
    warning = f"Tell the user: memory could not be searched. {on_one_line(error.message)}"
    shape: Shape = {
        "results": [],
        "disabled": True,
        "unavailable": True,
        "error": error.message,
        "warning": warning,
        "action": error.action,
    }
    if error.kind == "timeout":
        shape["timedOut"] = True
    return Answer(shape, f"{warning} → {on_one_line(error.action)}", is_error=True)


def _frame(
    results: Results, notices: Sequence[str], *, is_partial: bool, narrowed: Sequence[str]
) -> tuple[Shape, list[str]]:
    """Return all of an answer but its hits, and what is to be said to the user."""
    said = list(dict.fromkeys(on_one_line(each) for each in (*notices, *results.notices)))
    is_partial = is_partial and bool(said)
    troubles = [
        *_verdict(results, is_partial=is_partial, narrowed=narrowed),
        *_troubles(results, said, is_partial=is_partial),
    ]
    frame: Shape = {
        **render.results_json(results),
        "query": results.query[:_SHORT_CHARS],
        "citations": "on",
        "notices": [each[:_NOTICE_CHARS] for each in said[:_NOTICES]],
    }
    del frame["results"]
    vector = (results.degraded or {}).get(Leg.VECTOR)
    if vector is not None:
        frame["fallback"] = {"from": results.provider or "vector", "reason": vector.reason}
    actions = [why.action for why in (results.degraded or {}).values()]
    if troubles:
        frame["warning"] = " ".join(troubles)
        frame["action"] = actions[0] if actions else "Tell the user what the warning says."
    if is_partial:
        frame["partial"] = True
        frame["action"] = _SOON
    return frame, troubles


def _search_text(
    results: Results, fitted: _Fitted, troubles: Sequence[str], max_tokens: int
) -> Iterator[str]:
    if not results.hits and not troubles:
        yield "Nothing in memory matches. Tell the user that memory holds nothing on it."
    # What the whole is worth stands before it: what comes last is read last.
    yield from troubles
    if fitted.lines:
        count = len(fitted.lines)
        yield f"{count} result{'s' if count > 1 else ''} ({results.mode}), best first:"
        yield OPEN + "\n".join(fitted.lines) + f"\n{CLOSE}"
    if fitted.left_out:
        named = ", ".join(on_one_line(hit.citation) for hit in fitted.left_out[:_NAMED])
        more = " more" if fitted.lines else ""
        yield (
            f"{len(fitted.left_out)}{more} left out to keep to {max_tokens} tokens: "
            f"{named[:_NOTICE_CHARS]}. Read them with memory_get, or ask with a larger maxTokens."
        )
    if fitted.is_shortened:
        yield "Snippets that end in … are shortened; memory_get reads them in full."


def _verdict(results: Results, *, is_partial: bool, narrowed: Sequence[str]) -> Iterator[str]:
    """Yield why a model may not conclude that this is the answer, or that there is none."""
    if results.hits:
        if not results.confident:
            yield "Nothing found stands out: this may not be in memory. Say so instead of guessing."
    elif narrowed:
        yield f"Nothing matches within {', '.join(narrowed)}. Ask again without, or in other words."
    elif is_partial or results.degraded:
        yield "Nothing was found, but not all of memory was searched."
    elif results.notices:
        yield "Nothing in memory matches."


def _troubles(results: Results, notices: Sequence[str], *, is_partial: bool) -> Iterator[str]:
    """Yield what the user has to be told, in words."""
    if is_partial:
        yield f"Tell the user: memory is still being indexed, so this may be incomplete. {_SOON}"
    for leg, why in (results.degraded or {}).items():
        if is_partial and leg == Leg.VECTOR:
            continue  # that is what the indexing is for
        if leg == Leg.VECTOR and results.mode is Mode.KEYWORD:
            what = "memory was searched by keywords only, so what is put in other words is missed"
        elif leg == Leg.VECTOR:
            what = "the embedding provider that is set did not answer"
        else:
            what = f"the {leg} step of the search did not run"
        yield f"Tell the user: {what}: {on_one_line(why.reason)} {on_one_line(why.action)}"
    for notice in notices[:_NOTICES]:
        whose = "Note" if is_partial else "Tell the user"
        yield f"{whose}: {notice[:_NOTICE_CHARS]}"
    if len(notices) > _NOTICES:
        yield f"And {len(notices) - _NOTICES} more such notices; memory_status lists what is wrong."


def _fit(hits: Sequence[Hit], *, max_tokens: int) -> _Fitted:
    """Take the hits in their order, each as full as there is room for."""
    fitted = _Fitted([], [], [], is_shortened=False)
    is_shortened = False
    left = max_tokens
    for hit in hits:
        for most_chars in (None, _SHORT_CHARS, 0):
            snippet = _shortened(neutralised(hit.snippet), most_chars)
            shape, line = _hit_shape(hit, snippet), _hit_text(hit, snippet)
            cost = (
                max(estimate_tokens(json.dumps(shape, ensure_ascii=False)), estimate_tokens(line))
                + 1
            )
            if cost <= left:
                left -= cost
                fitted.shapes.append(shape)
                fitted.lines.append(line)
                is_shortened = is_shortened or snippet.endswith("…")
                break
        else:
            fitted.left_out.append(hit)
    return _Fitted(fitted.shapes, fitted.lines, fitted.left_out, is_shortened)


def _shortened(snippet: str, most_chars: int | None) -> str:
    if most_chars is None or len(snippet) <= most_chars:
        return snippet
    return f"{snippet[:most_chars].rstrip()}…"


def _hit_shape(hit: Hit, snippet: str) -> Shape:
    return {
        **render.hit_json(hit),
        "snippet": snippet,
        "corpus": hit.source.value,
        "heading": [on_one_line(each) for each in hit.heading],
    }


def _hit_text(hit: Hit, snippet: str) -> str:
    marks = [on_one_line(hit.citation)]
    marks += [str(hit.date)] if hit.date else []
    marks += [f"said by {hit.speaker}"] if hit.speaker else []
    marks += [f"fact {hit.fact.id}"] if hit.fact else []
    is_outdated = hit.superseded_by or (hit.fact is not None and hit.fact.superseded_by)
    marks += ["outdated"] if is_outdated else []
    heading = on_one_line(HEADING_SEPARATOR.join(hit.heading))
    body = "".join(f"\n  {line}" for line in snippet.split("\n") if snippet)
    return f"- {hit.score:.2f} [{', '.join(marks)}] {heading}".rstrip() + body


def _title(shape: Shape) -> str:
    heading = shape["heading"]
    parts = heading if isinstance(heading, list) else []
    return HEADING_SEPARATOR.join(map(str, parts)) or str(shape["path"])
