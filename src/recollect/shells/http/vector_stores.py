"""The memory as one of OpenAI's vector stores: its search, its description, its errors' shape.

Programs written for that API find memory by changing the base URL. Ids are the agent's, or
`default`. What the API has beyond searching is not offered: files are written as files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError
from recollect.shells.http.filters import Narrowed, filters
from recollect.shells.http.kinds import Kind, WrongValueError, choice, flag, number, text, whole
from recollect.shells.http.operation import Call, Operation, Where, defaulted, optional, required
from recollect.shells.http.searching import QUESTION
from recollect.shells.http.shapes import (
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    array,
    either,
    mapping,
    nullable,
    shape,
    word,
)
from recollect.shells.render import vector_stores as render_openai

if TYPE_CHECKING:
    from recollect.shells.render.search import Json
    from recollect.types import Hit, Results

DEFAULT_ID = "default"
_MOST_QUERIES = 10
_MOST_RESULTS = 50
_USUAL_RESULTS = 10
_RANKERS = ("auto", "none", "default-2024-11-15")


@dataclass(frozen=True, slots=True)
class Ranking:
    """The ranking options of that API."""

    ranker: str | None = None
    score_threshold: float | None = None


def _questions() -> Kind[tuple[str, ...]]:
    def read(value: object) -> tuple[str, ...]:
        if isinstance(value, str):
            return (QUESTION.read(value),)
        if not isinstance(value, list) or not 1 <= len(value) <= _MOST_QUERIES:
            raise WrongValueError(f"must be a text or a list of 1 to {_MOST_QUERIES} texts")
        return tuple(QUESTION.read(each) for each in value)

    several = {
        "type": "array",
        "items": QUESTION.schema,
        "minItems": 1,
        "maxItems": _MOST_QUERIES,
    }
    return Kind(either(QUESTION.schema, several), read)


def _ranking() -> Kind[Ranking]:
    kinds: dict[str, Kind[object]] = {
        "ranker": choice(*_RANKERS),
        "score_threshold": number(least=0, most=1),
    }

    def read(value: object) -> Ranking:
        if not isinstance(value, dict) or not set(value) <= set(kinds):
            raise WrongValueError(f"must be an object with {' and '.join(kinds)}")
        given = {name: kinds[name].read(each) for name, each in value.items() if each is not None}
        return Ranking(**given)  # type: ignore[arg-type]  # each was read by its kind

    members = {name: nullable(kind.schema) for name, kind in kinds.items()}
    schema = {"type": "object", "properties": members, "additionalProperties": False}
    return Kind(schema, read)


STORE_ID = required(
    "vector_store_id",
    text(least=1, most=200, pattern="^[^/]+$", says="an id"),
    "The agent's id, or `default`.",
    where=Where.PATH,
)
QUERIES = required("query", _questions(), "The question, or several.", where=Where.BODY)
MOST = defaulted(
    "max_num_results",
    whole(least=1, most=_MOST_RESULTS),
    "How many results at most.",
    default=_USUAL_RESULTS,
    where=Where.BODY,
)
FILTERS = optional(
    "filters", filters(), "Only what has this path, source or date.", where=Where.BODY
)
RANKING = optional(
    "ranking_options",
    _ranking(),
    "`none` turns a second look by a model off; the threshold leaves lower scores out.",
    where=Where.BODY,
)
REWRITE = defaulted(
    "rewrite_query",
    flag(),
    "Taken, without effect: questions are searched as they are.",
    default=False,
    where=Where.BODY,
)
LIMIT = defaulted("limit", whole(least=1, most=100), "How many at most.", default=20)
ORDER = defaulted("order", choice("asc", "desc"), "There is one store only.", default="desc")
AFTER = optional("after", text(most=200), "Only stores after this one.")
PREVIOUS = optional("before", text(most=200), "Only stores before this one.")


async def search_vector_store(call: Call) -> Json:
    """Answer one question or several in the shape of that API."""
    await _check(call)
    narrowed = call[FILTERS] or Narrowed()
    best: dict[str, Hit] = {}
    for question in () if narrowed.is_empty else call[QUERIES]:
        for hit in (await _asked(call, question, narrowed)).hits:
            known = best.get(hit.citation)
            if known is None or known.score < hit.score:
                best[hit.citation] = hit
    ranked = sorted(best.values(), key=lambda hit: (-hit.score, hit.path, hit.start_line))
    return {
        "object": "vector_store.search_results.page",
        "search_query": list(call[QUERIES]),
        "data": [render_openai.found_json(hit) for hit in ranked[: call[MOST]]],
        "has_more": False,
        "next_page": None,
    }


async def _asked(call: Call, question: str, narrowed: Narrowed) -> Results:
    ranking = call[RANKING] or Ranking()
    synced = call.served.wants_sync
    scopes = call.served.held.seen(())
    results = await call.memory.run(
        lambda memory: memory.search(
            question,
            max_results=call[MOST],
            min_score=ranking.score_threshold,
            source=narrowed.source,
            since=narrowed.since,
            before=narrowed.before,
            path=narrowed.path,
            scopes=scopes,
            rerank=False if ranking.ranker == "none" else None,
            sync=synced,
        )
    )
    call.served.note_answered(results, synced=synced)
    return results


async def list_vector_stores(call: Call) -> Json:
    """Return the one store that is served."""
    is_beyond = call[AFTER] is not None or call[PREVIOUS] is not None
    stores = [] if is_beyond else [await _described(call)]
    ids = [store["id"] for store in stores] or [None]
    return {
        "object": "list",
        "data": stores,
        "first_id": ids[0],
        "last_id": ids[0],
        "has_more": False,
    }


async def retrieve_vector_store(call: Call) -> Json:
    """Describe the store."""
    await _check(call)
    return await _described(call)


async def _check(call: Call) -> None:
    """Refuse a store that is not this one.

    Raises:
        NotFoundError: it is another.

    """
    agent = await call.memory.run(lambda memory: memory.agent)
    if call[STORE_ID] not in {DEFAULT_ID, agent}:
        raise NotFoundError(
            "There is no such vector store here.",
            action=f"Use {agent} or {DEFAULT_ID}.",
        )


async def _described(call: Call) -> Json:
    status = await call.memory.run(lambda memory: memory.status())
    last = call.memory.last_sync
    began = int(call.served.began.timestamp())
    return render_openai.vector_store_json(
        status,
        created_at=began,
        active_at=int(last.at.timestamp()) if last.at else began,
        is_behind=last.at is None or status.staleness.is_stale,
    )


_STORE = shape(
    {
        "id": TEXT,
        "object": {"const": "vector_store"},
        "created_at": WHOLE,
        "last_active_at": WHOLE,
        "name": TEXT,
        "usage_bytes": WHOLE,
        "file_counts": shape(
            dict.fromkeys(("in_progress", "completed", "failed", "cancelled", "total"), WHOLE)
        ),
        "status": word("completed", "in_progress"),
        "metadata": mapping(TEXT),
        "expires_after": {"type": "null"},
        "expires_at": {"type": "null"},
    }
)
_FOUND = shape(
    {
        "file_id": TEXT,
        "filename": TEXT,
        "score": NUMBER,
        "attributes": mapping(either(TEXT, NUMBER, FLAG)),
        "content": array(shape({"type": {"const": "text"}, "text": TEXT})),
    }
)

OPERATIONS = (
    Operation(
        "POST",
        "/v1/vector_stores/{vector_store_id}/search",
        search_vector_store,
        "Search, in the shape of OpenAI's vector stores.",
        params=(STORE_ID, QUERIES, MOST, FILTERS, RANKING, REWRITE),
        answer=shape(
            {
                "object": {"const": "vector_store.search_results.page"},
                "search_query": array(TEXT),
                "data": array(_FOUND),
                "has_more": FLAG,
                "next_page": nullable(TEXT),
            }
        ),
        errors=(404,),
    ),
    Operation(
        "GET",
        "/v1/vector_stores",
        list_vector_stores,
        "The one vector store that is served.",
        params=(LIMIT, ORDER, AFTER, PREVIOUS),
        answer=shape(
            {
                "object": {"const": "list"},
                "data": array(_STORE),
                "first_id": nullable(TEXT),
                "last_id": nullable(TEXT),
                "has_more": FLAG,
            }
        ),
    ),
    Operation(
        "GET",
        "/v1/vector_stores/{vector_store_id}",
        retrieve_vector_store,
        "Describe a vector store.",
        params=(STORE_ID,),
        answer=_STORE,
        errors=(404,),
    ),
)
