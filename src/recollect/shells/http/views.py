"""What the web page shows besides search: documents, days, the map, facts, the evaluation."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError
from recollect.evaluate.cases import CASES_FILE
from recollect.shells.dates import end_of
from recollect.shells.http.facts import FACT, ID
from recollect.shells.http.kinds import several, text, whole
from recollect.shells.http.operation import (
    Call,
    Operation,
    defaulted,
    optional,
    repeated,
)
from recollect.shells.http.searching import (
    AS_OF,
    BEFORE,
    PATH,
    QUESTION,
    SCOPES,
    SINCE,
    SOURCE,
    SUPERSEDED,
)
from recollect.shells.http.shapes import (
    DAY,
    DEGRADED,
    FAILURE,
    NUMBER,
    OPEN,
    TEXT,
    WHOLE,
    array,
    mapping,
    nullable,
    shape,
    word,
)
from recollect.shells.render import facts as render_facts
from recollect.shells.render import overview as render_atlas
from recollect.types import GLOBAL

if TYPE_CHECKING:
    from recollect.evaluate.run import CaseAnswer, Evaluation
    from recollect.shells.render.search import Json

_MOST_DOCUMENTS = 1000
_MOST_POINTS = 20_000
_EVALUATION_SECONDS = 600.0  # a hundred questions asked five ways, on a slow machine

LIMIT = defaulted(
    "limit", whole(least=1, most=_MOST_DOCUMENTS), "How many documents at most.", default=100
)
OFFSET = defaulted(
    "offset", whole(least=0, most=10**9), "How many documents to pass over.", default=0
)
PLACED = optional("query", QUESTION, "A question to place on the map.")
MOST = defaulted(
    "most", whole(least=1, most=_MOST_POINTS), "How many chunks to draw at most.", default=5000
)
_NAME = text(most=500)
TEXT_OF = defaulted("text", _NAME, "Only facts that say these words.", default="")
CATEGORY = defaulted("category", _NAME, "Only facts of this category.", default="")
ENTITY = defaulted("entity", _NAME, "Only facts about this person or thing.", default="")
TAGS = repeated("tag", several(_NAME, most=20), "Only facts with this tag.")


async def documents(call: Call) -> Json:
    """Return the documents, a page of them."""
    source = call[SOURCE]
    scopes = call.served.held.seen(call[SCOPES])
    found = await call.memory.run(
        lambda memory: memory.overview.documents(
            limit=call[LIMIT],
            offset=call[OFFSET],
            source=None if source == "all" else source,
            since=call[SINCE],
            before=call[BEFORE],
            path=call[PATH],
            scopes=scopes,
        )
    )
    return render_atlas.documents_json(found)


async def timeline(call: Call) -> Json:
    """Return how much is stored of each day."""
    scopes = call.served.held.seen(call[SCOPES])
    found = await call.memory.run(lambda memory: memory.overview.timeline(scopes=scopes))
    return render_atlas.timeline_json(found)


async def chunk_map(call: Call) -> Json:
    """Return chunks as points, with a question among them."""
    scopes = call.served.held.seen(call[SCOPES])
    found = await call.memory.run(
        lambda memory: memory.overview.map(call[PLACED], most=call[MOST], scopes=scopes)
    )
    return await asyncio.to_thread(render_atlas.map_json, found)


async def facts(call: Call) -> Json:
    """Return the facts that hold, as `facts list --json` prints them."""
    from recollect.facts.listing import Wanted  # noqa: PLC0415 - only where facts are asked for

    named = call.served.held.seen(call[SCOPES])
    is_limited = call.served.held.names is not None and not call[SCOPES]
    wanted = Wanted(
        scopes=(GLOBAL, *named) if is_limited else named,
        category=call[CATEGORY],
        entity=call[ENTITY],
        tags=call[TAGS],
        text=call[TEXT_OF],
    )
    listing = await call.memory.run(
        lambda memory: memory.facts.listed(
            wanted, as_of=end_of(call[AS_OF]), include_superseded=call[SUPERSEDED]
        )
    )
    return render_facts.listing_json(listing)


async def fact(call: Call) -> Json:
    """Return a fact with its history, as `facts show --json` prints it."""
    history = await call.memory.run(lambda memory: call.served.held.history(memory, call[ID]))
    return render_facts.facts_json(history)


async def evaluation(call: Call) -> Json:
    """Return the JSON of `eval --compare --json` for the cases of the workspace."""
    from recollect.shells.render import evaluate as render_evaluate  # noqa: PLC0415 - only where it is asked for

    return render_evaluate.evaluation_json(await _evaluated(call))


async def _evaluated(call: Call) -> Evaluation:
    """Ask every case in every way, one at a time: whoever searches meanwhile gets in between."""
    from recollect.evaluate.cases import read_cases, unfindable  # noqa: PLC0415 - only where needed
    from recollect.evaluate.run import (  # noqa: PLC0415
        Evaluation,
        VariantRun,
        compared_variants,
        outcomes_of,
        run_cases,
    )

    memory = call.memory
    workspace = await memory.run(lambda own: own.workspace)
    file = workspace / CASES_FILE
    if not await asyncio.to_thread(file.is_file):
        raise NotFoundError(
            f"There is no {CASES_FILE} in the workspace, so there is nothing to measure.",
            action='Add questions with `recollect eval add "…"`; docs/evaluate.md tells how.',
        )
    cases = await asyncio.to_thread(read_cases, file)
    depth = await memory.run(lambda own: own.config.search.max_results)
    warnings = await memory.run(lambda own: unfindable(cases, memory=own, file=file))
    runs = []
    for variant in await memory.run(compared_variants):
        answers: list[CaseAnswer] = []
        for case in cases:
            ask = partial(run_cases, cases=[case], variants=[variant], k=depth)
            (run,) = await memory.run(ask)
            answers += run.answers
        runs.append(VariantRun(variant, tuple(answers)))
    return Evaluation(
        file=file,
        workspace=workspace,
        k=depth,
        cases=len(cases),
        outcomes=await asyncio.to_thread(outcomes_of, tuple(runs)),
        warnings=warnings,
    )


_SOURCE = word("memory", "sessions", "facts")
_AMOUNT = {"documents": WHOLE, "chunks": WHOLE}
_DAY_AMOUNT = {**_AMOUNT, "bySource": mapping(shape(_AMOUNT))}
_DOCUMENT = shape(
    {
        "path": TEXT,
        "source": _SOURCE,
        "date": nullable(DAY),
        "title": nullable(TEXT),
        "headings": array(TEXT),
        "chunks": WHOLE,
        "sizeBytes": WHOLE,
    }
)
_PLACE = {"x": NUMBER, "y": NUMBER}
_POINT = shape(
    {
        **_PLACE,
        "path": TEXT,
        "startLine": WHOLE,
        "endLine": WHOLE,
        "heading": array(TEXT),
        "source": _SOURCE,
        "date": nullable(DAY),
    }
)
_MAP = shape(
    {
        "points": array(_POINT),
        "query": nullable(shape(_PLACE)),
        "nearest": array(WHOLE),
        "shown": WHOLE,
        "total": WHOLE,
        "spread": NUMBER,
        "degraded": DEGRADED,
    }
)
_EVALUATION = shape(
    {
        "cases": TEXT,
        "workspace": TEXT,
        "count": WHOLE,
        "k": WHOLE,
        "configured": TEXT,
        "variants": array(OPEN),
        "warnings": array(TEXT),
    }
)

OPERATIONS = (
    Operation(
        "GET",
        "/api/documents",
        documents,
        "The documents of this memory, the newest first, undated last.",
        params=(LIMIT, OFFSET, SOURCE, SINCE, BEFORE, PATH, SCOPES),
        answer=shape({"documents": array(_DOCUMENT), "total": WHOLE}),
    ),
    Operation(
        "GET",
        "/api/timeline",
        timeline,
        "How much is stored of each day.",
        params=(SCOPES,),
        answer=shape(
            {
                "days": array(shape({"date": DAY, **_DAY_AMOUNT})),
                "undated": shape(_DAY_AMOUNT),
            }
        ),
    ),
    Operation(
        "GET",
        "/api/map",
        chunk_map,
        "Chunks as points, near to each other where they mean alike, and a question among them.",
        params=(PLACED, MOST, SCOPES),
        answer=_MAP,
    ),
    Operation(
        "GET",
        "/api/facts",
        facts,
        "The facts that hold.",
        params=(TEXT_OF, CATEGORY, ENTITY, TAGS, SCOPES, AS_OF, SUPERSEDED),
        answer=shape({"facts": array(OPEN), "problems": array(FAILURE)}),
    ),
    Operation(
        "GET",
        "/api/facts/{id}",
        fact,
        "A fact with all that it superseded and was superseded by, oldest first.",
        params=(ID,),
        answer=shape({"facts": array(FACT)}),
        errors=(404,),
    ),
    Operation(
        "GET",
        "/api/evaluation",
        evaluation,
        f"How well search answers the questions in {CASES_FILE}, by every way of searching.",
        answer=_EVALUATION,
        errors=(404,),
        seconds=_EVALUATION_SECONDS,
    ),
)
