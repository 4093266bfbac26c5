"""Results of tools: a structured part for programs, and a text that a model can quote.

Both stay within a number of tokens. Anyone may have written what is in a memory, so it is
neutralised as in a block of `recollect recall`. What went wrong is worded for the user.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING, cast
from urllib.parse import quote, unquote

from recollect.errors import NotFoundError, RecollectError, UsageError
from recollect.records import dataclass
from recollect.shape import as_json, json_of
from recollect.shells.mcp.tools import HIT_FIELDS
from recollect.shells.render.facts import forgotten_fact, remembered_notices
from recollect.shells.render.search import also_in_text, validity_text
from recollect.shells.render.status import outcome_json, status_text
from recollect.text.excerpt import without_headings
from recollect.text.safe import fenced, neutralised, on_one_line
from recollect.text.size import estimate_tokens
from recollect.types import HEADING_SEPARATOR, Leg, Mode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recollect.facts.draft import RememberReport
    from recollect.facts.record import Fact
    from recollect.reports import Excerpt, Report, Status
    from recollect.types import Hit, Results

    Shape = dict[str, object]

_SCHEME = "memory:///"
_UNQUOTED = "/@+,;=!$&'()*~"
"""What a URI's path may contain as it is, besides letters and digits."""
_FRAME_TOKENS = 140
"""Tokens for what a result says besides its contents, such as where to read more."""
_MAX_NOTICES = 5
_NOTICE_CHARS = 300
_MAX_CITATIONS = 5  # of hits that were left out, or of one hit
_SHORT_CHARS = 200
_MAX_FILES = 20  # of each list in a status
_RETRY = "Ask again in a moment."
_OTHER_LINE_ENDS = re.compile("[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""Line ends to some programs, but not in a file's line numbers."""
_VERDICTS = {
    "add": "Remembered",
    "update": "Changed",
    "existing": "Already known",
    "supersede": "Remembered, replacing what is listed below",
    "contradicts": "Remembered, but it contradicts what is listed below",
    "forgotten": "Not remembered, because it was deliberately forgotten",
}


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool returns. Every text in the structured part is neutralised here."""

    structured: Shape
    text: str
    is_error: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "structured", _neutralised_shape(self.structured))


def _neutralised_shape(value: object) -> object:
    match value:
        case str():
            return neutralised(value)
        case dict():
            return {key: _neutralised_shape(each) for key, each in value.items()}
        case list() | tuple():
            return [_neutralised_shape(each) for each in value]
    return value


def failed(error: RecollectError, empty: Shape) -> ToolResult:
    """Return the result of a tool that failed, with the members that some clients expect."""
    shape: Shape = {**empty, "error": error.message, "action": error.action, "type": error.kind}
    return ToolResult(shape, _error_text(error), is_error=True)


def _error_text(error: RecollectError) -> str:
    return f"{on_one_line(error.message)} → {on_one_line(error.action)}"


def search_result(
    results: Results, *, max_tokens: int, is_partial: bool, narrowed: Sequence[str] = ()
) -> ToolResult:
    """Return the result of memory_search; `narrowed` names the arguments that excluded hits."""
    frame, warnings = _frame(results, is_partial=is_partial, narrowed=narrowed)
    spent = max(estimate_tokens(json.dumps(frame)), sum(map(estimate_tokens, warnings)))
    room = max_tokens - spent - _FRAME_TOKENS
    fitted = _fit(results.hits, max_tokens=room, is_compact=results.is_compact)
    shape: Shape = {"results": fitted.shapes, **frame}
    if fitted.left_out:
        shape["leftOut"] = len(fitted.left_out)
    if fitted.is_shortened:
        shape["shortened"] = True
    return ToolResult(shape, "\n".join(_search_text(results, fitted, warnings, max_tokens)))


def connector_search_result(found: ToolResult) -> ToolResult:
    """Return the result of a search in the shape of ChatGPT's connectors."""
    hits = cast("list[Shape]", found.structured["results"])
    shape: Shape = {
        "results": [
            {
                "id": hit["citation"],
                "title": HEADING_SEPARATOR.join(cast("list[str]", hit["heading"])) or hit["path"],
                "url": uri_of(str(hit["citation"])),
                "text": hit["snippet"],
            }
            for hit in hits
        ]
    }
    if "warning" in found.structured:
        shape["warning"] = found.structured["warning"]
    return _json_result(shape)


def search_failed(error: RecollectError) -> ToolResult:
    """Return the result of a search that could not run, in OpenClaw's shape."""
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
    return ToolResult(shape, f"{warning} → {on_one_line(error.action)}", is_error=True)


def _frame(
    results: Results, *, is_partial: bool, narrowed: Sequence[str]
) -> tuple[Shape, list[str]]:
    """Return everything but the hits, and the warnings for the user."""
    unique = list(dict.fromkeys(on_one_line(each) for each in results.notices))
    warnings = [
        *_caveat(results, is_partial=is_partial, narrowed=narrowed),
        *_warnings(results, unique, is_partial=is_partial),
    ]
    told = json_of(replace(results, hits=()))
    frame: Shape = {
        **{name: value for name, value in told.items() if name != "results"},
        "query": results.query[:_SHORT_CHARS],
        "citations": "on",
        "notices": [each[:_NOTICE_CHARS] for each in unique[:_MAX_NOTICES]],
    }
    vector = (results.degraded or {}).get(Leg.VECTOR)
    if vector is not None:
        frame["fallback"] = {"from": results.provider or "vector", "reason": vector.reason}
    actions = [why.action for why in (results.degraded or {}).values()]
    if warnings:
        frame["warning"] = " ".join(warnings)
        frame["action"] = actions[0] if actions else "Tell the user what the warning says."
    if is_partial:
        frame["partial"] = True
        frame["action"] = _RETRY
    return frame, warnings


def _caveat(results: Results, *, is_partial: bool, narrowed: Sequence[str]) -> Iterator[str]:
    """Yield why this may not be the answer, or why nothing was found."""
    if results.hits:
        if not results.confident:
            yield "Weak matches: answer only if one of them says it."
    elif narrowed:
        limits = ", ".join(narrowed)
        yield f"Nothing matches with {limits}. Ask again without, or in other words."
    elif is_partial or results.degraded:
        yield "Nothing was found, but not all of memory was searched."
    elif results.notices:
        yield "Nothing in memory matches."


def _warnings(results: Results, notices: Sequence[str], *, is_partial: bool) -> Iterator[str]:
    """Yield what the model should tell the user."""
    if is_partial:
        yield f"Tell the user: memory is still being indexed, so this may be incomplete. {_RETRY}"
    for leg, why in (results.degraded or {}).items():
        if is_partial and leg == Leg.VECTOR:
            continue  # the indexing will embed the rest
        if leg == Leg.VECTOR and results.mode is Mode.KEYWORD:
            what = "memory was searched by keywords only, so other wordings are missed"
        elif leg == Leg.VECTOR:
            what = "the configured embedding provider did not answer"
        else:
            what = f"the {leg} step of the search did not run"
        yield f"Tell the user: {what}: {on_one_line(why.reason)} {on_one_line(why.action)}"
    for notice in notices[:_MAX_NOTICES]:
        prefix = "Note" if is_partial else "Tell the user"
        yield f"{prefix}: {notice[:_NOTICE_CHARS]}"
    if len(notices) > _MAX_NOTICES:
        more = len(notices) - _MAX_NOTICES
        yield f"And {more} more such notices; memory_status lists the problems."


def _search_text(
    results: Results, fitted: _Fitted, warnings: Sequence[str], max_tokens: int
) -> Iterator[str]:
    if not results.hits and not warnings:
        yield "Nothing in memory matches. Tell the user that memory has nothing about it."
    # Warnings come first: a model weighs the hits by them.
    yield from warnings
    if fitted.lines:
        count = len(fitted.lines)
        yield f"{count} result{'s' if count > 1 else ''} ({results.mode}), best first:"
        yield fenced("\n".join(fitted.lines))
    if fitted.left_out:
        named = ", ".join(on_one_line(hit.citation) for hit in fitted.left_out[:_MAX_CITATIONS])
        more = " more" if fitted.lines else ""
        yield (
            f"{len(fitted.left_out)}{more} left out to keep to {max_tokens} tokens: "
            f"{named[:_NOTICE_CHARS]}. Read them with memory_get, or ask with a larger maxTokens."
        )
    if fitted.is_shortened:
        yield "Snippets that end in … are shortened; memory_get reads them in full."


@dataclass(frozen=True, slots=True)
class _Fitted:
    """The hits that fit into a result, as shapes and as texts."""

    shapes: list[Shape]
    lines: list[str]
    left_out: list[Hit]
    is_shortened: bool


def _fit(hits: Sequence[Hit], *, max_tokens: int, is_compact: bool) -> _Fitted:
    """Take the hits in order, each with as much of its snippet as there is room for."""
    shapes: list[Shape] = []
    lines: list[str] = []
    left_out: list[Hit] = []
    is_shortened = False
    left = max_tokens
    for hit in hits:
        for most_chars in (None, _SHORT_CHARS, 0):
            snippet = neutralised(hit.snippet)
            if most_chars is not None and len(snippet) > most_chars:
                snippet = f"{snippet[:most_chars].rstrip()}…"
            shape, line = _hit_shape(hit, snippet), _hit_text(hit, snippet)
            shape = {name: shape[name] for name in HIT_FIELDS} if is_compact else shape
            encoded = json.dumps(shape, ensure_ascii=False)
            cost = max(estimate_tokens(encoded), estimate_tokens(line)) + 1
            if cost <= left:
                left -= cost
                shapes.append(shape)
                lines.append(line)
                is_shortened = is_shortened or snippet.endswith("…")
                break
        else:
            left_out.append(hit)
    return _Fitted(shapes, lines, left_out, is_shortened)


def _hit_shape(hit: Hit, snippet: str) -> Shape:
    few = replace(hit, also_in=hit.also_in[:_MAX_CITATIONS])
    return {
        **json_of(few),
        "snippet": snippet,
        "corpus": hit.source.value,
        "heading": [on_one_line(each) for each in hit.heading],
    }


def _hit_text(hit: Hit, snippet: str) -> str:
    marks = [on_one_line(hit.citation)]
    marks += [str(hit.date)] if hit.date else []
    marks += [f"said by {hit.speaker.replace(',', ', ')}"] if hit.speaker else []
    marks += [f"fact {hit.fact.id}"] if hit.fact else []
    is_outdated = hit.superseded_by or (hit.fact is not None and hit.fact.superseded_by)
    marks += ["outdated"] if is_outdated else []
    marks += [validity_text(hit.valid_until)] if hit.valid_until else []
    marks += [f"contradicted by {on_one_line(each)}" for each in hit.contradicts]
    marks += [f"also in {on_one_line(also_in_text(hit))}"] if hit.also_in else []
    marks += [f"links to {on_one_line(', '.join(hit.links))}"] if hit.links else []
    marks += [f"linked from {on_one_line(', '.join(hit.backlinks))}"] if hit.backlinks else []
    heading = on_one_line(hit.title)
    said = without_headings(snippet, hit.heading)
    body = "".join(f"\n  {line}" for line in said.split("\n") if said)
    return f"- {hit.score:.2f} [{', '.join(marks)}] {heading}".rstrip() + body


def excerpt_result(excerpt: Excerpt, *, max_tokens: int) -> ToolResult:
    """Return the result of memory_get, cut at a line end if it is too long."""
    lines = _neutralised_lines(excerpt.text)
    kept = _fit_lines(lines, max_tokens=max_tokens - _FRAME_TOKENS)
    is_cut = len(kept) < len(lines)
    next_line = excerpt.start_line + len(kept) if is_cut else excerpt.next_line
    text = "\n".join(kept)
    shape: Shape = {
        **json_of(excerpt),
        "status": "ok",
        "lines": len(kept),
        "text": text,
        "truncated": next_line is not None,
        "nextFrom": next_line,
    }
    path = on_one_line(excerpt.path)
    if not lines:
        return ToolResult(shape, f"{path} has nothing at line {excerpt.start_line}.")
    last = excerpt.start_line + len(kept) - 1
    shown = f"{path}, lines {excerpt.start_line} to {last}:\n{fenced(text)}"
    if next_line is not None:
        shown += f"\n[More content available. Use from={next_line} to continue.]"
    return ToolResult(shape, shown)


def connector_fetch_result(document_id: str, excerpt: Excerpt, *, max_tokens: int) -> ToolResult:
    """Return the result of fetch, in the shape of ChatGPT's connectors."""
    shape = excerpt_result(excerpt, max_tokens=max_tokens).structured
    return _json_result(
        {
            "id": document_id,
            "title": excerpt.path,
            "text": shape["text"],
            "url": uri_of(excerpt.path),
            "metadata": {key: shape[key] for key in ("from", "lines", "truncated", "nextFrom")},
        }
    )


def _json_result(shape: Shape) -> ToolResult:
    """Return a result whose text is its JSON, as connectors expect."""
    result = ToolResult(shape, "")
    return replace(result, text=json.dumps(result.structured, ensure_ascii=False))


def excerpt_failed(path: str, error: RecollectError) -> ToolResult:
    """Return the result of memory_get if the lines cannot be read, in OpenClaw's shape."""
    shape: Shape = {
        "path": path,
        "text": "",
        "disabled": not isinstance(error, NotFoundError | UsageError),
        "status": "not_found" if error.kind == "not_found" else "error",
        "error": error.message,
        "action": error.action,
    }
    known = "Try again with another path" if error.kind == "not_found" else "Tell the user"
    return ToolResult(shape, f"{known}: {_error_text(error)}", is_error=True)


def _neutralised_lines(text: str) -> list[str]:
    """Return neutralised lines, numbered as in the file: none is split or joined."""
    if not text:
        return []
    return neutralised(_OTHER_LINE_ENDS.sub(" ", text.replace("\r\n", "\n"))).split("\n")


def _fit_lines(lines: Sequence[str], *, max_tokens: int) -> list[str]:
    """Return the first lines that fit; if even the first is too long, the start of it."""
    kept: list[str] = []
    left = max_tokens
    for line in lines:
        cost = estimate_tokens(line) + 1
        if cost > left:
            break
        left -= cost
        kept.append(line)
    if lines and not kept:
        first = lines[0]
        # Tokens per character vary along a line, so search for the longest start that fits.
        sizes = range(len(first) + 1)
        over = bisect_right(sizes, max_tokens, key=lambda size: estimate_tokens(first[:size]) + 1)
        kept = [f"{first[: max(over - 1, 0)]}…"]
    return kept


def remembered_result(remembered: RememberReport) -> ToolResult:
    """Return the result of memory_remember: the fact with its id, and what happened to it."""
    decision, fact = remembered.decision, remembered.fact
    verdict = decision.verdict.value
    others = [other for other in decision.others if other.id != fact.id]
    notices = list(remembered_notices(remembered))
    shape: Shape = {
        **json_of(fact),
        "verdict": verdict,
        "reason": decision.reason or None,
        "others": [other.id for other in others],
        "duplicates": [
            {"id": each.fact.id, "text": each.fact.text, "reason": each.reason}
            for each in decision.duplicates
        ],
        "notices": notices,
    }
    lines = [f"{_VERDICTS[verdict]}: {fact.id} {fact.text}"]
    lines += [f"  {other.id} {other.text}" for other in others]
    if verdict == "contradicts":
        lines.append("Ask the user which is right, then remember that one with supersedes.")
    if decision.duplicates:
        lines.append("If it says the same as a fact named below, forget the new one.")
    return ToolResult(shape, neutralised("\n".join([*lines, *notices])))


def forgotten_result(fact: Fact) -> ToolResult:
    """Return the result of memory_forget."""
    entry = forgotten_fact(fact, ()).entry
    undo = "To undo that, call memory_forget with this as undo:"
    text = neutralised(f"Forgotten: {fact.text}\n{undo} {entry}")
    return ToolResult({"forgotten": json_of(fact), "entry": entry}, text)


def status_result(status: Status, ended: Report | RecollectError | None) -> ToolResult:
    """Return the result of memory_status, with the first files of long lists."""
    stale: Shape = {}
    for name in ("changed", "gone", "failed"):
        files = getattr(status.stale, name)
        stale |= {name: as_json(files[:_MAX_FILES]), f"{name}Count": len(files)}
    shape: Shape = {**json_of(status), "worker": _worker_json(ended), "stale": stale}
    lines = [line for line, _ in status_text(status)]
    if ended is None:
        lines.append("The first background sync is running.")
    elif isinstance(ended, RecollectError):
        lines.append(f"Tell the user: the index is not kept fresh. {ended.message} {ended.action}")
    return ToolResult(shape, neutralised("\n".join(lines)))


def _worker_json(ended: Report | RecollectError | None) -> Shape:
    if ended is None:
        return {"state": "syncing", "lastReport": None, "lastError": None}
    if isinstance(ended, RecollectError):
        error = {"type": ended.kind, "message": ended.message, "action": ended.action}
        return {"state": "failing", "lastReport": None, "lastError": error}
    report = {**outcome_json(ended), "failed": len(ended.failed)}
    return {"state": "idle", "lastReport": report, "lastError": None}


def uri_of(path: str) -> str:
    """Return the URI of a path, or of a citation with its lines as the fragment."""
    path, mark, lines = path.rpartition("#L") if "#L" in path else (path, "", "")
    return f"{_SCHEME}{quote(path, safe=_UNQUOTED)}{mark}{lines}"


def path_of(uri: str) -> str | None:
    """Return the path, with its lines if there are any, of one of our URIs; None for any other."""
    if not uri.startswith(_SCHEME):
        return None
    path, mark, lines = uri.removeprefix(_SCHEME).partition("#")
    return f"{unquote(path)}{mark}{lines}"
