"""Entries of a YAML file: set, replaced and removed, and nothing else moves."""

from __future__ import annotations

import pytest
import yaml

from recollect.install.yaml_edit import read_yaml, remove_yaml, set_yaml

PATH = ("mcp_servers", "recollect")
ENTRY = {"command": "/bin/recollect", "args": ["mcp", "-w", "/my: notes #1"]}
BLOCK = '  recollect:\n    command: "/bin/recollect"\n    args: ["mcp", "-w", "/my: notes #1"]\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", f"mcp_servers:\n{BLOCK}"),
        ("model: x", f"model: x\nmcp_servers:\n{BLOCK}"),
        ("# only a comment\n", f"# only a comment\nmcp_servers:\n{BLOCK}"),
        (
            "mcp_servers: # none yet\nmodel: x\n",
            f"mcp_servers: # none yet\n{BLOCK}model: x\n",
        ),
        (
            "mcp_servers:\n  # docs\n  docs: {url: x}  # kept\n\n# below\nmodel: x\n",
            f"mcp_servers:\n  # docs\n  docs: {{url: x}}  # kept\n{BLOCK}\n# below\nmodel: x\n",
        ),
        ("mcp_servers:\n  docs:\n    note: |\n      a\n      b\n", None),
        ("mcp_servers:\n    docs:\n        env:\n", None),
        ("mcp_servers:\n  docs:\n    args:\n    - a\n    - b", None),
        ("---\nmcp_servers:\n  docs: &d\n    url: x\nother: *d\n", None),
        ("mcp_servers:\r\n  docs:\r\n    url: x\r\nmodel: y\r\n", None),
    ],
)
def test_an_entry_is_added_and_removed_where_it_belongs(text: str, expected: str | None) -> None:
    after = set_yaml(text, PATH, ENTRY)

    before = yaml.safe_load(text) or {}
    servers = {**(before.get("mcp_servers") or {}), "recollect": ENTRY}
    assert {**before, "mcp_servers": servers} == yaml.safe_load(after)
    assert expected in {None, after}
    assert [line for line in text.splitlines() if line not in after.splitlines()] == []
    removed = read_yaml(remove_yaml(after, PATH))
    assert {key: each for key, each in before.items() if each is not None} == removed


def test_an_entry_is_replaced_as_a_whole() -> None:
    text = "mcp_servers:\n  recollect:\n    command: old\n    timeout: 9\n  docs:\n    url: x\n"

    assert f"mcp_servers:\n{BLOCK}  docs:\n    url: x\n" == set_yaml(text, PATH, ENTRY)


def test_a_section_that_becomes_empty_goes_and_comments_around_it_stay() -> None:
    text = f"# top\nmodel: x\nmcp_servers:\n{BLOCK}# below\nother: y\n"

    assert "# top\nmodel: x\n# below\nother: y\n" == remove_yaml(text, PATH)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("mcp_servers: {}\n", "mcp_servers is written in braces"),
        ("mcp_servers: {docs: {url: x}}\n", "mcp_servers is written in braces"),
        ("{model: x}\n", "it is written in braces"),
        ("mcp_servers: [a]\n", "mcp_servers is not a mapping"),
        ("mcp_servers: ~\n", "its layout cannot be edited safely"),
        ("- a\n", "it is not a mapping"),
        ("a: 1\n---\nb: 2\n", "it is not plain YAML"),
        ("model: x\n...\n", "its layout cannot be edited safely"),
        ("mcp_servers:\n  docs: {url: x}\nmcp_servers:\n  more: {url: y}\n", "mcp_servers twice"),
        ("model: !secret x\n", "it is not plain YAML"),
        ("model: [\n", "it is not plain YAML"),
    ],
)
def test_what_cannot_be_edited_safely_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        set_yaml(text, PATH, ENTRY)


def test_removing_what_is_not_there_changes_nothing() -> None:
    assert "model: x\n" == remove_yaml("model: x\n", PATH)
