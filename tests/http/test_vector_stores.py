"""The vector store API, asked by OpenAI's own client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openai
import pytest
from tests.http.servers import inside

from recollect.shells.http.server import ServeOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.http.servers import Command

TOKEN = "a-token-that-nobody-guesses"  # noqa: S105 - of no server but this


@pytest.fixture
def client(server: Command) -> Iterator[openai.OpenAI]:
    """The client, pointed at our server and nothing else changed."""
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="unused", max_retries=0) as asking:
        yield asking


def search(client: openai.OpenAI, **arguments: Any) -> list[Any]:
    return client.vector_stores.search("default", **arguments).data


def test_a_question_is_answered_with_chunks_and_where_they_stand(
    client: openai.OpenAI, server: Command
) -> None:
    page = client.vector_stores.search(
        "default", query="how are backups kept safe", max_num_results=3
    )

    ours = server.get("/api/search?query=how are backups kept safe&maxResults=3").json()["results"]
    assert [hit["path"] for hit in ours] == [found.file_id for found in page.data]
    assert [hit["score"] for hit in ours] == [found.score for found in page.data]
    first = page.data[0]
    assert first.attributes is not None
    assert ours[0]["citation"] == first.attributes["citation"]
    assert "text" == first.content[0].type
    assert ours[0]["snippet"] in first.content[0].text
    assert not page.has_next_page()


def test_several_questions_are_answered_by_the_best_of_each(client: openai.OpenAI) -> None:
    one = search(client, query="backups", max_num_results=5)
    other = search(client, query="printer", max_num_results=5)

    both = search(client, query=["backups", "printer"], max_num_results=5)

    scores = sorted((found.score for found in [*one, *other]), reverse=True)
    assert scores[0] == both[0].score
    assert len(both) == 5
    assert sorted((found.score for found in both), reverse=True) == [found.score for found in both]


def test_filters_narrow_by_source_path_and_date(client: openai.OpenAI) -> None:
    dated = search(
        client,
        query="backup",
        filters={
            "type": "and",
            "filters": [
                {"type": "eq", "key": "source", "value": "memory"},
                {"type": "gte", "key": "date", "value": "2026-09-10"},
                {"type": "lt", "key": "date", "value": "2026-09-30"},
            ],
        },
    )
    path = dated[0].file_id
    one = search(client, query="a", filters={"type": "eq", "key": "path", "value": path})

    assert all("2026-09-10" <= found.attributes["date"] < "2026-09-30" for found in dated)
    assert {path} == {found.file_id for found in one}


def test_a_path_is_compared_and_is_no_pattern(client: openai.OpenAI) -> None:
    for path in ("memory/*", "**", "MEMORY.m?", "[M]EMORY.md", "memory/"):
        assert [] == search(
            client, query="backup", filters={"type": "eq", "key": "path", "value": path}
        )


def test_filters_that_contradict_each_other_leave_nothing(client: openai.OpenAI) -> None:
    for pair in (
        [("source", "eq", "memory"), ("source", "eq", "facts")],
        [("path", "eq", "MEMORY.md"), ("path", "eq", "USER.md")],
        [("date", "gt", "2026-02-01"), ("date", "lt", "2026-02-01")],
    ):
        several = [{"key": key, "type": kind, "value": value} for key, kind, value in pair]
        assert [] == search(client, query="backup", filters={"type": "and", "filters": several})


def test_a_threshold_leaves_lower_scores_out(client: openai.OpenAI) -> None:
    everything = search(client, query="backups", max_num_results=10)
    bound = everything[2].score

    kept = search(
        client,
        query="backups",
        max_num_results=10,
        ranking_options={"ranker": "none", "score_threshold": bound},
    )

    assert 2 <= len(kept) <= len(everything)
    assert all(found.score >= bound for found in kept)


def test_the_store_is_listed_and_retrieved_by_both_names(client: openai.OpenAI) -> None:
    [store] = list(client.vector_stores.list())

    assert "completed" == store.status
    assert store.file_counts.completed > 10
    assert store.id == client.vector_stores.retrieve("default").id
    assert store.id == client.vector_stores.retrieve(store.id).id
    assert [] == list(client.vector_stores.list(after=store.id))


@pytest.mark.parametrize(
    ("arguments", "param", "message"),
    [
        ({"query": " "}, "query", "non-blank text"),
        ({"query": []}, "query", "1 to 10 texts"),
        ({"query": "x", "max_num_results": 51}, "max_num_results", "from 1 to 50"),
        (
            {"query": "x", "filters": {"type": "or", "filters": []}},
            "filters",
            "several comparisons joined by and",
        ),
        (
            {"query": "x", "filters": {"type": "ne", "key": "source", "value": "facts"}},
            "filters",
            "path or source by eq",
        ),
        (
            {"query": "x", "filters": {"type": "eq", "key": "author", "value": "Ada"}},
            "filters",
            "a comparison of path or source by eq, or of date",
        ),
        (
            {"query": "x", "filters": {"type": "gte", "key": "date", "value": 1700000000}},
            "filters",
            "a day such as",
        ),
        ({"query": "x", "ranking_options": {"ranker": "best"}}, "ranking_options", "one of auto"),
        (
            {"query": "x", "ranking_options": {"score_threshold": 10**400}},
            "ranking_options",
            "from 0 to 1",
        ),
        ({"query": "x", "extra_body": {"max_results": 3}}, "max_results", "max_num_results"),
    ],
)
def test_what_cannot_be_done_is_refused_in_that_apis_words(
    arguments: dict[str, Any], param: str, message: str, client: openai.OpenAI
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        search(client, **arguments)

    assert param == caught.value.param
    assert "invalid_request_error" == caught.value.type
    assert message in str(caught.value)


def test_another_store_does_not_exist(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="There is no such vector store"):
        client.vector_stores.search("vs_123", query="x")


def test_what_is_not_offered_is_refused(client: openai.OpenAI) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        client.vector_stores.create(name="new")

    assert 405 == caught.value.status_code


def test_the_key_is_the_token(workspace: Path, environ: Mapping[str, str]) -> None:
    options = ServeOptions("127.0.0.1", 0, token=TOKEN)
    with inside(workspace, {**environ, "RECOLLECT_PROVIDER": "none"}, options) as here:
        with openai.OpenAI(base_url=f"{here.url}/v1", api_key=TOKEN, max_retries=0) as known:
            stores = list(known.vector_stores.list())
        with (
            openai.OpenAI(base_url=f"{here.url}/v1", api_key="wrong", max_retries=0) as stranger,
            pytest.raises(openai.AuthenticationError),
        ):
            stranger.vector_stores.list()

    assert 1 == len(stores)
