"""A TOML file that someone keeps: a table is added at its end and taken out; nothing else moves."""

from __future__ import annotations

import tomllib

import pytest

from recollect.config.edit import edit_toml, shown_table

PATH = ("mcp_servers", "recollect")
ENTRY = {"command": "/opt/recollect", "args": ["mcp", "-w", "/a b"]}
TEXTS = {
    "nothing": "",
    "top-level": 'model = "o9" # mine\n',
    "no-line-end": 'model = "o9"',
    "windows": 'model = "o9"\r\n[tui]\r\ntheme = "x"\r\n',
    "other-server": '# m\n[mcp_servers.other]\ncommand = "x"\n\n[mcp_servers.other.env]\nA = "1"',
    "lists-of-tables": '[[a]]\nb = [\n  [1],\n  ["c"],\n]\n',
    "quoted": '[projects."/home/me/x.y"]\ntrust_level = "trusted"\n',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_a_table_is_added_at_the_end(text: str) -> None:
    after = edit_toml(text, {PATH: ENTRY})

    assert ENTRY == tomllib.loads(after)["mcp_servers"]["recollect"]
    assert after.startswith(text)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_adding_twice_is_adding_once(text: str) -> None:
    once = edit_toml(text, {PATH: ENTRY})

    assert once == edit_toml(once, {PATH: ENTRY})


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_taking_out_leaves_the_rest(text: str) -> None:
    removed = edit_toml(edit_toml(text, {PATH: ENTRY}), {PATH: None})

    assert tomllib.loads(text) == tomllib.loads(removed)
    assert text.rstrip() == removed.rstrip()


def test_a_table_that_is_there_keeps_what_else_it_says() -> None:
    text = (
        "[mcp_servers.recollect] # mine\n"
        'command = "/old"  # where it is\n'
        'args = [\n  "mcp",\n]\n'
        "tool_timeout_sec = 60\n"
        "\n"
        "[tui]\n"
        "a = 1\n"
    )

    assert (
        "[mcp_servers.recollect] # mine\n"
        'command = "/opt/recollect"  # where it is\n'
        'args = ["mcp", "-w", "/a b"]\n'
        "tool_timeout_sec = 60\n"
        'env = {A = "1"}\n'
        "\n"
        "[tui]\n"
        "a = 1\n"
    ) == edit_toml(text, {PATH: {**ENTRY, "env": {"A": "1"}}})


def test_a_table_is_taken_out_with_those_inside_it() -> None:
    text = (
        "a = 1\n"
        "\n"
        "[mcp_servers.recollect]\n"
        'command = "x"\n'
        "# inside\n"
        "[mcp_servers.recollect.env]\n"
        'A = "1"\n'
        "\n"
        "# about the next\n"
        "[tui]\n"
        "b = 2\n"
    )

    assert "a = 1\n\n# about the next\n[tui]\nb = 2\n" == edit_toml(text, {PATH: None})


def test_a_header_that_leads_to_the_table_alone_stays() -> None:
    text = f"[mcp_servers] # mine\n\n{shown_table(PATH, ENTRY)}"

    assert "[mcp_servers] # mine\n" == edit_toml(text, {PATH: None}).rstrip() + "\n"


def test_a_comment_above_a_table_that_goes_stays() -> None:
    text = f"a = 1\n\n# mine\n{shown_table(PATH, ENTRY)}"

    assert "a = 1\n\n# mine\n" == edit_toml(text, {PATH: None})


def test_a_table_on_one_line_is_taken_out_alone() -> None:
    text = '[mcp_servers]\nrecollect = { command = "x" }\nother = {}\n'

    assert "[mcp_servers]\nother = {}\n" == edit_toml(text, {PATH: None})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a = = 1", "Invalid value"),
        ('mcp_servers = { other = { command = "x" } }', "without changing other lines"),
        ('[mcp_servers]\nrecollect = "x"', "without changing other lines"),
    ],
)
def test_a_text_that_cannot_be_edited_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        edit_toml(text, {PATH: ENTRY})


def test_a_table_is_shown_as_toml() -> None:
    shown = shown_table(("mcp_servers", "a b"), {**ENTRY, "env": {"A.B": "é\n"}})

    assert {"mcp_servers": {"a b": {**ENTRY, "env": {"A.B": "é\n"}}}} == tomllib.loads(shown)
