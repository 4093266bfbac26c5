"""A JSON text that someone keeps: what is added goes in whole, comes out whole, moves nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.install import json_edit
from recollect.install.json_edit import append, parsed, put, remove, remove_elements

PATH = ("mcpServers", "recollect")
ENTRY = {"command": "/opt/recollect", "args": ["mcp", "-w", "/a b"]}
TEXTS = {
    "nothing": "",
    "one-line-end": "\n",
    "empty": "{}",
    "blank-inside": "{ }",
    "two-lines": "{\n}\n",
    "one-line": '{"a": 1}',
    "indented": '{\n  "a": 1\n}\n',
    "four-spaces": '{\n    "mcpServers": {\n        "other": {}\n    }\n}\n',
    "tabs": '{\n\t"a": [1, 2],\n\t"mcpServers": {}\n}\n',
    "windows": '{\r\n  "mcpServers": {\r\n    "other": {}\r\n  }\r\n}\r\n',
    "mark": '\ufeff{\n  "a": 1\n}\n',
    "comment-after-last": "{\n  a: 1 // of a\n  // at the end\n}\n",
    "trailing-comma": "{\n  a: 1, // of a\n  'mcpServers': {other: {}, /* o */},\n}\n",
    "only-comments": "// head\n{ // first\n  // second\n}\n// tail\n",
    "inline-comment": "{ /* nothing yet */ }",
    "brackets-in-text": '{\n  "a": "} ] , // no",\n  "b": \'"\'\n}\n',
    "unicode": '{\n  "naïve": "日本 \\u00e9"\n}\n',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_what_is_added_is_one_piece_and_comes_out_to_the_byte(text: str) -> None:
    edit = put(text, PATH, ENTRY)

    assert ENTRY == json_edit.value_at(parsed(edit.text), PATH)
    assert 1 == edit.text.count(edit.piece)
    assert text == edit.text.replace(edit.piece, "")


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_adding_twice_is_adding_once(text: str) -> None:
    once = put(text, PATH, ENTRY).text

    assert once == put(once, PATH, ENTRY).text


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_taking_out_by_meaning_keeps_every_comment(text: str) -> None:
    removed = remove(put(text, PATH, ENTRY).text, PATH)

    servers = json_edit.value_at(parsed(text), PATH[:1]) or {}
    assert servers == json_edit.value_at(parsed(removed), PATH[:1])
    for comment in ("// of a", "// at the end", "/* o */", "// head", "// first", "// second"):
        assert (comment in text) == (comment in removed)


def test_a_new_member_is_laid_out_as_its_neighbours() -> None:
    edit = put(TEXTS["four-spaces"], ("mcpServers", "new"), {"a": [1]})

    expected = """{
    "mcpServers": {
        "other": {},
        "new": {
            "a": [
                1
            ]
        }
    }
}
"""
    assert expected == edit.text


def test_a_comment_stays_with_what_it_is_about() -> None:
    text = "{\n  first: 1, // about the first\n  second: 2 // about the second\n}\n"

    assert (
        '{\n  "new": 3,\n  first: 1, // about the first\n  second: 2 // about the second\n}\n'
        == put(text, ("new",), 3).text
    )


def test_a_value_is_replaced_and_its_neighbours_stay() -> None:
    text = "{\n  a: {command: 'old', env: {K: 'v'}}, // mine\n}\n"

    assert (
        "{\n  a: {command: \"new\", env: {K: 'v'}}, // mine\n}\n"
        == put(text, ("a", "command"), "new").text
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"l": [1, 2, 3]}', '{"l": [1, 3]}'),
        ('{"l": [2, 3]}', '{"l": [3]}'),
        ('{"l": [1, 2]}', '{"l": [1]}'),
        ('{"l": [2]}', '{"l": []}'),
        ("{l: [\n  1, // one\n  2, // two\n  3\n]}", "{l: [\n  1, // one\n  // two\n  3\n]}"),
        ("{l: [\n  1, // one\n  2,\n]}", "{l: [\n  1, // one\n]}"),
        ("{l: [\n  1 // one\n  , 2\n]}", "{l: [\n  1 // one\n  \n]}"),
    ],
)
def test_an_element_goes_with_the_comma_it_needed(text: str, expected: str) -> None:
    assert expected == remove_elements(text, ("l",), lambda each: each == 2)


def test_an_element_goes_to_the_end_of_its_list() -> None:
    text = '{\n  "hooks": {\n    "Stop": [\n      {"a": 1}\n    ]\n  }\n}\n'
    edit = append(text, ("hooks", "Stop"), {"b": 2})

    assert {"hooks": {"Stop": [{"a": 1}, {"b": 2}]}} == parsed(edit.text)
    assert text == edit.text.replace(edit.piece, "")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"a": 1', "ends too early"),
        ('{"a": 1}}', "line 1"),
        ('{\n  "a" 1\n}', "line 2"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3"),
        ("[1]", "no table"),
        ('{"mcpServers": 1}', "no table"),
        ('{"mcpServers": {}, "mcpServers": {}}', "twice"),
        ("[" * 100_000 + "]" * 100_000, "too deeply"),
    ],
)
def test_a_text_that_cannot_be_edited_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        put(text, PATH, ENTRY)


def test_a_refusal_shows_nothing_of_the_text() -> None:
    with pytest.raises(ValueError, match="line 2") as caught:
        put('{\n  "key": sk-secret-0123 oops\n}', PATH, ENTRY)

    assert "secret" not in str(caught.value)


def test_a_list_is_not_made_out_of_something_else() -> None:
    with pytest.raises(ValueError, match="no list"):
        append('{"hooks": {"Stop": {}}}', ("hooks", "Stop"), 1)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(
    tree=st.dictionaries(st.text(max_size=5), VALUES, max_size=4),
    indent=st.sampled_from([None, 1, 2, "\t"]),
    key=st.text(max_size=5),
)
def test_any_json_is_as_it_was_after_adding_and_taking_out(
    tree: dict[str, object], indent: int | str | None, key: str
) -> None:
    tree.pop("mcpServers", None)
    text = json.dumps(tree, indent=indent, ensure_ascii=False)
    edit = put(text, ("mcpServers", key), ENTRY)

    assert {**tree, "mcpServers": {key: ENTRY}} == json.loads(edit.text)
    assert tree == json.loads(remove(edit.text, ("mcpServers",)))
