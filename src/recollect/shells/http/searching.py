"""Finding and reading over HTTP: search, recall, a part of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.reports import RecallForm
from recollect.shells.dates import end_of
from recollect.shells.http.kinds import choice, day, flag, number, several, text, whole
from recollect.shells.http.operation import (
    Call,
    Operation,
    defaulted,
    optional,
    repeated,
    required,
)
from recollect.shells.http.shapes import (
    DAY,
    DEGRADED,
    FLAG,
    NUMBER,
    OPEN,
    TEXT,
    WHOLE,
    array,
    nullable,
    shape,
    word,
)
from recollect.shells.render import search as render

if TYPE_CHECKING:
    from recollect.shells.render.search import Json

MOST_QUERY_CHARS = 4_000
"""Of a question: percent-encoded it fits into an address in any script."""
QUESTION = text(least=1, most=MOST_QUERY_CHARS, pattern=r"[^\s\x00]", says="more than blanks")
SCOPE_NAME = text(
    most=210,
    pattern=r"^(global|(user|agent|session):[^\s,\x00-\x1f\x7f-\xa0]{1,200})$",
    says="global, user:NAME, agent:NAME or session:NAME",
)
SCOPES = repeated("scope", several(SCOPE_NAME, most=20), "Facts of this scope too: user:ada.")

QUERY = required("query", QUESTION, "The question, in any words.")
MAX_RESULTS = optional("maxResults", whole(least=1, most=1000), "How many hits at most.")
MIN_SCORE = optional("minScore", number(least=0, most=1), "Leave out hits that score lower.")
SOURCE = defaulted(
    "source", choice("memory", "sessions", "facts", "all"), "Only this source.", default="all"
)
SINCE = optional("since", day(), "Only notes dated on or after this day.")
BEFORE = optional("before", day(), "Only notes dated before this day.")
PATH = optional("path", text(least=1, most=1000), "Only files that match this glob.")
AS_OF = optional("asOf", day(), "Facts as they held on this day.")
SUPERSEDED = defaulted(
    "includeSuperseded", flag(), "Also facts that others took the place of.", default=False
)
FUSION = optional(
    "fusion", choice("calibrated", "weighted", "rrf"), "How the legs become one score."
)
EXPLAIN = defaulted("explain", flag(), "Tell how each score came about.", default=False)

PROMPT = required("prompt", QUESTION, "What the turn begins with.")
BUDGET = defaulted(
    "budget", whole(least=50, most=100_000), "The most tokens the block may take.", default=800
)
FORM = defaulted(
    "form",
    choice(*(form.value for form in RecallForm)),
    "How much is shown of each hit.",
    default=RecallForm.FULL.value,
)

FILE = required("path", text(least=1, most=1000), "Of a memory file, as search shows it.")
FROM = defaulted("from", whole(least=1, most=10**9), "First line.", default=1)
LINES = defaulted("lines", whole(least=1, most=10_000), "How many lines.", default=120)


async def search(call: Call) -> Json:
    """Answer a question with the JSON of `search --json`."""
    synced = call.served.wants_sync
    source = call[SOURCE]
    scopes = call.served.held.seen(call[SCOPES])
    results = await call.memory.run(
        lambda memory: memory.search(
            call[QUERY],
            max_results=call[MAX_RESULTS],
            min_score=call[MIN_SCORE],
            source=None if source == "all" else source,
            since=call[SINCE],
            before=call[BEFORE],
            path=call[PATH],
            scopes=scopes,
            as_of=end_of(call[AS_OF]),
            include_superseded=call[SUPERSEDED],
            fusion=call[FUSION],
            explain=call[EXPLAIN],
            sync=synced,
        )
    )
    call.served.note_answered(results, synced=synced)
    return render.results_json(results)


async def recall_block(call: Call) -> Json:
    """Return the block for the start of a turn, as `recall --json` prints it."""
    scopes = call.served.held.seen(call[SCOPES])
    recalled, synced = await call.memory.run(
        lambda memory: (
            memory.recall(call[PROMPT], budget_tokens=call[BUDGET], form=call[FORM], scopes=scopes),
            memory.config.sync_on_search,
        )
    )
    call.served.note_answered(recalled.results, synced=synced)
    return render.recalled_json(recalled)


async def file(call: Call) -> Json:
    """Return a part of a memory file, as `get --json` prints it."""
    excerpt = await call.memory.run(
        lambda memory: memory.get(call[FILE], start_line=call[FROM], lines=call[LINES])
    )
    return render.excerpt_json(excerpt)


_FACT_MARK = shape(
    {
        "id": TEXT,
        "scope": TEXT,
        "validFrom": nullable(TEXT),
        "validUntil": nullable(TEXT),
        "supersededBy": nullable(TEXT),
    }
)
HIT = shape(
    {
        "path": TEXT,
        "startLine": WHOLE,
        "endLine": WHOLE,
        "score": NUMBER,
        "vectorScore": nullable(NUMBER),
        "textScore": nullable(NUMBER),
        "snippet": TEXT,
        "source": word("memory", "sessions", "facts"),
        "citation": TEXT,
        "heading": array(TEXT),
        "date": nullable(DAY),
    },
    may={
        "speaker": TEXT,
        "time": nullable(TEXT),
        "fact": _FACT_MARK,
        "supersededBy": TEXT,
        "explain": OPEN,
    },
)
RESULTS = shape(
    {
        "results": array(HIT),
        "query": TEXT,
        "mode": word("hybrid", "keyword", "vector"),
        "provider": nullable(TEXT),
        "model": nullable(TEXT),
        "fusion": TEXT,
        "degraded": DEGRADED,
        "confident": FLAG,
        "notices": array(TEXT),
        "tookMs": NUMBER,
    }
)
_EXCERPT = shape(
    {
        "path": TEXT,
        "from": WHOLE,
        "lines": WHOLE,
        "text": TEXT,
        "truncated": FLAG,
        "nextFrom": nullable(WHOLE),
    }
)
_RECALLED = shape(
    {"block": TEXT, "tokens": WHOLE, "citations": array(TEXT), "notices": array(TEXT)}
)

OPERATIONS = (
    Operation(
        "GET",
        "/api/search",
        search,
        "Find the passages that answer a question.",
        params=(
            QUERY,
            MAX_RESULTS,
            MIN_SCORE,
            SOURCE,
            SINCE,
            BEFORE,
            PATH,
            SCOPES,
            AS_OF,
            SUPERSEDED,
            FUSION,
            EXPLAIN,
        ),
        answer=RESULTS,
    ),
    Operation(
        "GET",
        "/api/recall",
        recall_block,
        "The block to put in front of a turn, within a budget of tokens.",
        params=(PROMPT, BUDGET, FORM, SCOPES),
        answer=_RECALLED,
    ),
    Operation(
        "GET",
        "/api/file",
        file,
        "Read a part of a memory file.",
        params=(FILE, FROM, LINES),
        answer=_EXCERPT,
        errors=(404,),
    ),
)
