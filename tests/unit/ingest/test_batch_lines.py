from __future__ import annotations

import json

import pytest

from recollect.ingest.batches import (
    as_form,
    as_related,
    pick,
    pick_count,
    pick_list,
    pick_text,
    read_lines,
    sendable,
    write_lines,
)


def test_lines_survive_every_reader() -> None:
    texts = ["a\nb", "x\u2028y\u0085z", "é", "\x00\x0b\x0c"]

    content = write_lines({"text": text} for text in texts)

    assert len(texts) == len(content.decode("utf-8").splitlines())
    assert texts == [json.loads(line)["text"] for line in content.splitlines()]
    assert [{"text": text} for text in texts] == list(read_lines(content))


def test_empty_lines_are_no_answers() -> None:
    assert [1, 2] == list(read_lines(b"1\r\n\n  \n2"))


def test_half_a_character_is_replaced() -> None:
    assert "a?b" == sendable("a\ud800b")


def test_what_is_no_file_of_lines_is_an_error() -> None:
    with pytest.raises(ValueError, match="Expecting value"):
        list(read_lines(b"<html></html>"))


@pytest.mark.parametrize("shape", [None, [], "text", 3, {"a": None}, {"a": []}, {"a": {"b": {}}}])
def test_looking_into_another_shape_finds_nothing(shape: object) -> None:
    assert ("", [], 0) == (
        pick_text(shape, "a", "b"),
        pick_list(shape, "a", "b"),
        pick_count(shape, "a", "b"),
    )


@pytest.mark.parametrize(("written", "count"), [(3, 3), ("12", 12), (-1, 0), ("x", 0), (1.5, 0)])
def test_counts_may_be_written_as_texts(written: object, count: int) -> None:
    assert count == pick_count({"n": written}, "n")
    assert written == pick({"n": written}, "n")


def test_uploads_name_their_boundary_and_end_with_it() -> None:
    for body, kind in (as_form(b'{"a": 1}\n'), as_related(b'{"a": 1}\n', name="n")):
        boundary = kind.partition("boundary=")[2].encode()

        assert 3 == body.count(b"--" + boundary)
        assert body.endswith(b"--" + boundary + b"--\r\n")
        assert b'\r\n\r\n{"a": 1}\n\r\n' in body
