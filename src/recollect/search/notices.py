"""Every sentence that a search adds to its answer: what was read differently, what is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recollect.search.interpret import identifiers_in
from recollect.search.respell import as_written
from recollect.stores.base import SpaceTexts
from recollect.text.globs import near_path
from recollect.text.phrases import MAX_PHRASES, PATH_HINT
from recollect.types import SourceKind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from recollect.search.embed import Serving
    from recollect.search.weigh import Evidence
    from recollect.stores.base import Store
    from recollect.types import Phrase, Scope, SearchRequest

_LEFT_OUT = {
    SourceKind.SESSIONS: "Transcripts are",
    SourceKind.AGENTS: "What agents keep as their own memory is",
}
_MAX_QUOTED_CHARS = 80  # of a phrase or an identifier in a notice


def notices(evidence: Evidence) -> tuple[str, ...]:
    """Return how the question was read, and which of its words, quotes and days nothing has."""
    told = (_phrases, _spelling, _identifiers, _days)
    return tuple(sentence for tell in told for sentence in tell(evidence))


def _phrases(evidence: Evidence) -> Iterator[str]:
    question, has_hits = evidence.question, bool(evidence.loaded.keys)
    scope = question.query.scope
    if more := question.ignored_phrases:
        others = "other were" if more == 1 else f"{more} others were"
        first = f"Only the first {MAX_PHRASES} quoted phrases can be required"
        yield f"{first}; the quotes of the {others} ignored."
    if question.absent:
        is_open = replace(scope, phrases=()).is_open
        within = "" if is_open else "within your filters "
        searched = "Searched without these quotes, because nothing" if has_hits else "Nothing"
        yield f"{searched} {within}contains {_quoted(question.absent, 'or')}."
    if len(scope.phrases) > 1 and not has_hits:
        together = f"No hit contains {_quoted(scope.phrases, 'and')} together."
        yield f"{together} Leave out one of them, or the quotes."


def _spelling(evidence: Evidence) -> Iterator[str]:
    for word, term in evidence.question.spelled.items():
        found = as_written(term, (each.text for each in evidence.loaded.chunks))
        yield f'Searched for "{found}", because "{word}" occurs nowhere.'


def _identifiers(evidence: Evidence) -> Iterator[str]:
    quoted = identifiers_in(evidence.question.absent)  # which have their own notice
    unknown = [each for each in evidence.unknown_identifiers if each not in quoted]
    if unknown and evidence.loaded.keys:
        text = evidence.question.query.text
        # As the user spelled it: terms are in lower case.
        at = {each: text.lower().find(each) for each in unknown}
        named = [text[at[each] : at[each] + len(each)] if at[each] >= 0 else each for each in at]
        texts = [each.text.lower() for each in evidence.loaded.chunks]
        is_part = any(each in found for found in texts for each in unknown)
        where = " except as part of a longer word" if is_part else ""
        yield f"Nothing contains {' or '.join(map(_short, named))}{where}."


def _days(evidence: Evidence) -> Iterator[str]:
    days, chunks = evidence.question.days, evidence.loaded.chunks
    if days is None or days.is_ahead or any(days.holds(each.when) for each in chunks):
        return
    if days.first == days.last:
        yield f"No hit is dated {days.first}, the day your question seems to mean."
    else:
        named = f"from {days.first} to {days.last}"
        yield f"No hit is dated {named}, the days your question seems to mean."


def _quoted(phrases: Collection[Phrase], conjunction: str) -> str:
    return f" {conjunction} ".join(f'"{_short(phrase.text)}"' for phrase in phrases)


def _short(text: str) -> str:
    is_long = len(text) > _MAX_QUOTED_CHARS
    return f"{text[:_MAX_QUOTED_CHARS].rstrip()}…" if is_long else text


def filling_notices(serving: Serving, store: Store) -> Iterator[str]:
    """Yield how far the space is that is being filled to replace the published one."""
    if serving.filling is not None:
        status = store.status(SpaceTexts(serving.filling))
        done = f"{100 * status.vectors // max(status.chunks, 1)} % is done"
        filling = f"The index is being embedded again with {serving.filling.model}: {done}."
        has_other = serving.second is not None and serving.provider is not None
        yield f"{filling} {serving.meanwhile}" if has_other else filling


def source_notices(request: SearchRequest, *, indexed: Collection[str]) -> Iterator[str]:
    """Yield that the source which is asked for is not indexed."""
    if request.source in _LEFT_OUT and request.source not in indexed:
        what = _LEFT_OUT[SourceKind(request.source)]
        yield f'{what} not indexed: set sources = ["memory", "{request.source}"] in your settings.'


def empty_notices(
    scope: Scope, store: Store, *, workspace: Path | None, is_synced: bool
) -> Iterator[str]:
    """Yield why a search found nothing: an empty index, or filters that leave nothing."""
    if store.holds():
        yield from () if scope.is_open else _empty_filters(scope, store=store)
    elif workspace is None:
        yield "This memory is empty. Push documents to it, or remember facts."
    elif is_synced:
        yield f"There are no notes in {workspace}. Name another workspace with -w."
    else:
        yield "The index is empty. Run `recollect index`."


def _empty_filters(scope: Scope, *, store: Store) -> Iterator[str]:
    """Yield which filters leave nothing to search, each taken alone, or else together."""
    scope = replace(scope, phrases=())
    unset: dict[str, Any] = dict.fromkeys(("source", "since", "before", "path")) | {"tags": ()}
    everything = replace(scope, **unset)
    sentences = {
        "path": f"No indexed file matches the path {scope.path!r}. {PATH_HINT}",
        "source": f"Nothing is indexed from {scope.source}.",
        "since": f"Nothing is dated on or after {scope.since}.",
        "before": f"Nothing is dated before {scope.before}.",
    }
    told = []
    for name, sentence in sentences.items():
        value = getattr(scope, name)
        if value is not None and not store.holds(replace(everything, **{name: value})):
            told.append(sentence + (_near(value, store=store) if name == "path" else ""))
    for tag in scope.tags:
        if not store.holds(replace(everything, tags=(tag,))):
            kind, _, name = tag.name.rpartition(":")
            told.append(f"No note has the {f'{kind} {name}' if kind else f'tag #{name}'}.")
    if not told and not store.holds(scope):
        rest = [each for each in unset if store.holds(replace(scope, **{each: unset[each]}))]
        told += [f"No note passes all filters; some do without {' or '.join(rest)}."] * bool(rest)
    yield from told


def _near(named: str, *, store: Store) -> str:
    """Return which path may be meant instead of one that no file has."""
    paths = {path for source, path in store.known() if source is SourceKind.MEMORY}
    folders = {f"{path.rpartition('/')[0]}/" for path in paths if "/" in path}
    near = near_path(named, paths | folders)
    return f" Did you mean {near}?" if near else ""


def copy_notice(count: int) -> str:
    """Return how many notes were left out because they repeat superseded facts."""
    left_out = "1 note was" if count == 1 else f"{count} notes were"
    notice = f"{left_out} left out: superseded facts, and nothing else. Include superseded ones"
    return f"{notice} to see {'it' if count == 1 else 'them'}."
