"""Prompts: what known models want."""

from __future__ import annotations

import pytest

from recollect.providers.prompts import Prompts, prompts_of
from recollect.types import Role


def test_each_role_has_its_own_words_in_front() -> None:
    prompts = Prompts("ask: ", "text: ")

    assert "ask: one" == prompts.apply("one", role=Role.QUERY)
    assert "text: one" == prompts.apply("one", role=Role.DOCUMENT)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("nomic-embed-text", Prompts("search_query: ", "search_document: ")),
        ("nomic-embed-text:v1.5", Prompts("search_query: ", "search_document: ")),
        ("EmbeddingGemma", Prompts("task: search result | query: ", "title: none | text: ")),
        ("intfloat/multilingual-e5-large", Prompts("query: ", "passage: ")),
        ("text-embedding-3-small", Prompts()),
        ("gemini-embedding-001", Prompts()),
        ("voyage-4-large", Prompts()),
        ("mistral-embed", Prompts()),
        ("all-minilm", Prompts()),
    ],
)
def test_a_model_is_known_by_its_name(model: str, expected: Prompts) -> None:
    assert expected == prompts_of(model)


def test_only_questions_carry_an_instruction_where_passages_have_none() -> None:
    prompts = prompts_of("mxbai-embed-large")

    assert "passages: one" in prompts.apply("one", role=Role.QUERY)
    assert "one" == prompts.apply("one", role=Role.DOCUMENT)


def test_prompts_that_differ_are_different_spaces() -> None:
    identities = {
        prompts.identity
        for prompts in (Prompts(), Prompts("a"), Prompts("", "a"), Prompts("a", "a"), Prompts("aa"))
    }

    assert 5 == len(identities)
    assert "plain" == Prompts().identity
    assert Prompts("a", "b").identity == Prompts("a", "b").identity
