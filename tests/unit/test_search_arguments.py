"""The arguments of a search are declared once, at the fields of a SearchRequest."""

from __future__ import annotations

from dataclasses import fields

from recollect import SearchRequest
from recollect.shells.cli.search import search_command
from recollect.shells.http.search import SearchParameters
from recollect.shells.mcp.tools import TOOLS
from recollect.types import search_arguments


def test_the_command_line_and_http_say_the_same_of_an_argument() -> None:
    options = {each.name: getattr(each, "help", None) for each in search_command.params}
    parameters = SearchParameters.model_fields

    assert {each.name: each.about for each in search_arguments("cli")}.items() <= options.items()
    for each in search_arguments("http"):
        assert each.about == parameters[each.name].description


def test_a_model_gives_the_arguments_by_their_names_in_json() -> None:
    given = {each.name for each in TOOLS[0].arguments}

    assert {"query", "maxResults", "asOf", "includeSuperseded"} <= given
    assert {"maxTokens"} == given - {each.name for each in TOOLS[0].arguments if each.about}


def test_every_argument_is_a_field_of_the_request() -> None:
    names = {each.name for each in fields(SearchRequest)}

    for shell in ("cli", "http", "mcp"):
        assert {each.name for each in search_arguments(shell)} <= names
