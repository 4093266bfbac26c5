"""The small parts: locations, addresses, answers within their tokens."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.errors import NotFoundError, StoreError, UsageError
from recollect.reports import Excerpt
from recollect.shells.cli.serve import parse_address
from recollect.shells.mcp.render import (
    excerpt_failed,
    excerpt_result,
    path_of,
    search_failed,
    search_result,
    uri_of,
)
from recollect.shells.parse import Location, parse_location
from recollect.text.size import estimate_tokens
from recollect.types import Degradation, Hit, Mode, Results, SourceKind

TEXTS = st.text(max_size=400) | st.text(alphabet="ab 日本\n`<>|/", max_size=2000)


def hit(number: int, snippet: str) -> Hit:
    return Hit(
        path=f"memory/{number}.md",
        start_line=1,
        end_line=3,
        score=0.5,
        vector_score=None,
        text_score=0.5,
        snippet=snippet,
        source=SourceKind.MEMORY,
        citation=f"memory/{number}.md#L1-L3",
        heading=("Head", "Sub"),
        date=date(2026, 2, 1),
    )


def results(*snippets: str, confident: bool = True, **changed: object) -> Results:
    known: dict[str, object] = {"degraded": None, "notices": (), **changed}
    return Results(
        hits=tuple(hit(number, snippet) for number, snippet in enumerate(snippets)),
        query="boat",
        mode=Mode.KEYWORD,
        provider=None,
        model=None,
        fusion="calibrated",
        confident=confident,
        took_ms=1.0,
        **known,  # type: ignore[arg-type]  # the two above, as a test wants them
    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("memory/a.md", Location("memory/a.md")),
        ("memory/a.md:7", Location("memory/a.md", 7)),
        ("memory/a.md:7:3", Location("memory/a.md", 7, lines=3)),
        ("memory/a.md:7-9", Location("memory/a.md", 7, end_line=9)),
        ("memory/a.md#L7", Location("memory/a.md", 7)),
        ("memory/a.md#L7-L9", Location("memory/a.md", 7, end_line=9)),
        ("C:/notes/a.md", Location("C:/notes/a.md")),
        ("", Location("")),
    ],
)
def test_a_place_is_understood_however_it_is_written(text: str, wanted: Location) -> None:
    assert wanted == parse_location(text)


def test_lines_are_counted_from_where_reading_begins() -> None:
    assert [(7, 3), (9, 1), (20, 1)] == [
        Location("a", 7, end_line=9).window(line, None) for line in (7, 9, 20)
    ]


@given(st.text(min_size=1).filter(lambda path: "#" not in path and path.isprintable()))
def test_an_address_leads_back_to_its_path(path: str) -> None:
    assert path == path_of(uri_of(path))
    assert f"{path}#L3-L9" == path_of(uri_of(f"{path}#L3-L9"))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("127.0.0.1:80", ("127.0.0.1", 80)),
        ("8765", ("127.0.0.1", 8765)),
        (":8765", ("127.0.0.1", 8765)),
        ("[::1]:8765", ("::1", 8765)),
        ("localhost:0", ("localhost", 0)),
    ],
)
def test_an_address_to_serve_at_is_of_this_machine_unless_it_says_otherwise(
    text: str, wanted: tuple[str, int]
) -> None:
    assert wanted == parse_address(text)


@pytest.mark.parametrize("text", ["", "::1:80", "host", "host:port", "1.2.3.4:99999"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_address(text)


@given(st.lists(TEXTS, max_size=12), st.integers(min_value=500, max_value=4000))
def test_an_answer_never_takes_more_tokens_than_it_may(
    snippets: list[str], max_tokens: int
) -> None:
    answer = search_result(results(*snippets), max_tokens=max_tokens, is_partial=False)
    shown = answer.structured["results"]
    left_out = answer.structured.get("leftOut", 0)

    assert estimate_tokens(answer.text) <= max_tokens
    assert estimate_tokens(json.dumps(answer.structured, ensure_ascii=False)) <= max_tokens
    assert isinstance(shown, list)
    assert isinstance(left_out, int)
    assert len(snippets) == len(shown) + left_out


@pytest.mark.parametrize("max_tokens", range(800, 1600, 100))
def test_of_many_hits_the_first_are_full_and_the_last_are_named(max_tokens: int) -> None:
    snippet = "word " * 100
    many = results(*[snippet] * 30)
    answer = search_result(many, max_tokens=max_tokens, is_partial=False)
    shown = answer.structured["results"]
    assert isinstance(shown, list)
    lengths = [len(each["snippet"]) for each in shown]

    assert lengths == sorted(lengths, reverse=True)
    assert len(snippet) == lengths[0]
    assert (lengths[-1] < lengths[0]) == ("Snippets that end in … are shortened" in answer.text)
    assert 30 - len(shown) == answer.structured["leftOut"]
    assert f"memory/{len(shown)}.md#L1-L3" in answer.text


def test_a_hit_for_which_there_is_little_room_is_shortened() -> None:
    answer = search_result(results("word " * 200), max_tokens=400, is_partial=False)
    shown = answer.structured["results"]
    assert isinstance(shown, list)

    assert shown[0]["snippet"].endswith("word…")
    assert "memory_get reads them in full" in answer.text


def test_trouble_is_said_in_words_for_the_user() -> None:
    degraded = {"vector": Degradation("No key.", "Set a key.")}
    answer = search_result(
        results(
            "The boat.",
            confident=False,
            degraded=degraded,
            notices=("The index was set aside.", "One file failed."),
        ),
        max_tokens=3000,
        is_partial=False,
    )

    assert [
        "Weak matches: answer only if one of them says it.",
        (
            "Tell the user: memory was searched by keywords only, so other wordings are missed: "
            "No key. Set a key."
        ),
        "Tell the user: The index was set aside.",
        "Tell the user: One file failed.",
    ] == answer.text.splitlines()[:4]
    assert "Set a key." == answer.structured["action"]


def test_memory_is_said_to_hold_nothing_only_when_all_of_it_was_searched() -> None:
    degraded = {"vector": Degradation("No key.", "Set a key.")}

    def said(found: Results, *, is_partial: bool = False, narrowed: tuple[str, ...] = ()) -> str:
        if is_partial:
            found = replace(found, notices=("A file is not read yet.",))
        answer = search_result(found, max_tokens=3000, is_partial=is_partial, narrowed=narrowed)
        return answer.text.splitlines()[0]

    assert "Nothing in memory matches. Tell the user that memory has nothing about it." == said(
        results()
    )
    assert "Nothing was found, but not all of memory was searched." == said(
        results(degraded=degraded)
    )
    assert "Nothing was found, but not all of memory was searched." == said(
        results(), is_partial=True
    )
    assert "Nothing matches with since, path. Ask again without, or in other words." == said(
        results(), narrowed=("since", "path")
    )


def test_what_is_unavailable_is_said_in_openclaws_shape() -> None:
    answer = search_failed(StoreError("The index is gone.", action="Run it again."))

    assert answer.is_error
    assert {
        "results": [],
        "disabled": True,
        "unavailable": True,
        "error": "The index is gone.",
        "warning": "Tell the user: memory could not be searched. The index is gone.",
        "action": "Run it again.",
    } == answer.structured


def test_what_cannot_be_read_is_said_in_openclaws_shape() -> None:
    answer = excerpt_failed("a.md", NotFoundError("There is no a.md.", action="Use another."))

    assert answer.is_error
    assert answer.structured | {"path": "a.md", "text": "", "disabled": False} == answer.structured
    assert "There is no a.md." == answer.structured["error"]


@given(TEXTS, st.integers(min_value=200, max_value=900))
@example("\u6f22" * 700 + "a" * 11_000, 500)  # one line, heavy at its beginning
def test_an_excerpt_keeps_its_lines_and_its_tokens(text: str, max_tokens: int) -> None:
    lines = text.replace("\r\n", "\n").split("\n") if text else []
    excerpt = Excerpt("memory/a.md", 5, len(lines), text, next_line=None)
    answer = excerpt_result(excerpt, max_tokens=max_tokens)
    kept = answer.structured["lines"]
    following = answer.structured["nextFrom"]

    assert isinstance(kept, int)
    assert estimate_tokens(answer.text) <= max_tokens
    assert (None if kept == len(lines) else 5 + kept) == following
