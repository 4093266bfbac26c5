"""A plain JSON file that someone keeps: a value goes in, comes out, and nothing else moves."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.install.json_edit import read_json, remove_json, set_json, value_at

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
    "brackets-in-text": '{\n  "a": "} ] , // no",\n  "b": "\\""\n}\n',
    "unicode": '{\n  "naïve": "日本 \\u00e9"\n}\n',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_what_is_added_is_all_that_changes(text: str) -> None:
    after = set_json(text, PATH, ENTRY)

    assert ENTRY == value_at(read_json(after), PATH)
    start = next((at for at, (a, b) in enumerate(zip(text, after, strict=False)) if a != b), 0)
    assert not text.strip() or (after.startswith(text[:start]) and after.endswith(text[start:]))


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_what_was_added_can_be_taken_out(text: str) -> None:
    removed = remove_json(set_json(text, PATH, ENTRY), PATH)

    servers = value_at(read_json(text), PATH[:1]) or {}
    assert servers == value_at(read_json(removed), PATH[:1])


def test_a_new_member_is_laid_out_as_its_neighbours() -> None:
    after = set_json(TEXTS["four-spaces"], ("mcpServers", "new"), {"a": [1]})

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
    assert expected == after


def test_a_value_is_replaced_and_its_neighbours_stay() -> None:
    text = '{\n  "a": {"command": "old", "env": {"K": "v"}},\n  "b": [ 1 ]\n}\n'

    assert '{\n  "a": {"command": "new", "env": {"K": "v"}},\n  "b": [ 1 ]\n}\n' == set_json(
        text, ("a", "command"), "new"
    )


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        ('{"l": [1, 2, 3]}', 1, '{"l": [1, 3]}'),
        ('{"l": [2, 3]}', 0, '{"l": [3]}'),
        ('{"l": [1, 2]}', 1, '{"l": [1]}'),
        ('{"l": [2]}', 0, '{"l": []}'),
        ('{"l": [2]}', 1, '{"l": [2]}'),
        ('{"l": [\n  1,\n  2,\n  3\n]}', 1, '{"l": [\n  1,\n  3\n]}'),
        ('{"l": [\n  1,\n  2\n]}', 0, '{"l": [\n  2\n]}'),
    ],
)
def test_an_element_goes_with_the_comma_it_needed(text: str, place: int, expected: str) -> None:
    assert expected == remove_json(text, ("l", place))


def test_an_element_goes_to_the_end_of_its_list() -> None:
    text = '{\n  "hooks": {\n    "Stop": [\n      {"a": 1}\n    ]\n  }\n}\n'

    assert text.replace('{"a": 1}', '{"a": 1},\n      {\n        "b": 2\n      }') == set_json(
        text, ("hooks", "Stop", 1), {"b": 2}
    )
    assert {"hooks": {"Stop": [3]}} == read_json(set_json("{}", ("hooks", "Stop", 0), 3))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"a": 1', "line 1"),
        ('{"a": 1}}', "line 1"),
        ('{\n  "a" 1\n}', "line 2"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3"),
        ('{\n  "a": 1 // mine\n}', "not plain JSON"),
        ("{a: 1}", "not plain JSON"),
        ('{"a": 1,}', "not plain JSON"),
        ("[1]", "not an object"),
        ('{"mcpServers": 1}', "not an object"),
        ('{"mcpServers": {}, "mcpServers": {}}', "twice"),
        ("[" * 100_000 + "]" * 100_000, "too deeply"),
    ],
)
def test_a_text_that_cannot_be_edited_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        set_json(text, PATH, ENTRY)


def test_a_refusal_shows_nothing_of_the_text() -> None:
    with pytest.raises(ValueError, match="line 2") as caught:
        set_json('{\n  "key": sk-secret-0123 oops\n}', PATH, ENTRY)

    assert "secret" not in str(caught.value)


def test_a_list_is_not_made_out_of_something_else() -> None:
    with pytest.raises(ValueError, match="not a list"):
        set_json('{"hooks": {"Stop": {}}}', ("hooks", "Stop", 0), 1)


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
    after = set_json(text, ("mcpServers", key), ENTRY)

    assert {**tree, "mcpServers": {key: ENTRY}} == json.loads(after)
    assert text == remove_json(after, ("mcpServers",))
