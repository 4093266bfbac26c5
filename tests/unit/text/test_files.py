"""A file is replaced in one step: old or new, never half, with its mode and links as they were."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from recollect.text.files import (
    make_private_folder,
    remove_leftovers,
    replace_file,
    replacing,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def any_mode_allowed() -> Iterator[None]:
    previous = os.umask(0)
    try:
        yield
    finally:
        os.umask(previous)


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def test_replacing_a_file_leaves_no_temporary_file(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    replace_file(file, b"old")
    replace_file(file, b"new")

    assert b"new" == file.read_bytes()
    assert ["a.md"] == names(tmp_path)


def test_a_failed_write_leaves_the_old_content(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(b"old")

    def interrupted() -> None:
        with replacing(file) as staged:
            staged.write_bytes(b"ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    assert b"old" == file.read_bytes()
    assert ["a.md"] == names(tmp_path)


@pytest.mark.parametrize("existing", [0o444, 0o600, 0o640])
def test_an_existing_file_keeps_its_mode(tmp_path: Path, existing: int) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(b"old")
    file.chmod(existing)
    replace_file(file, b"new")

    assert (b"new", existing) == (file.read_bytes(), mode(file))


@pytest.mark.parametrize(("existing", "expected"), [(0o444, 0o400), (0o600, 0o600), (0o664, 0o600)])
def test_a_private_file_is_taken_away_from_others(
    tmp_path: Path, existing: int, expected: int
) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(b"old")
    file.chmod(existing)
    replace_file(file, b"new", private=True)

    assert (b"new", expected) == (file.read_bytes(), mode(file))


def test_the_copy_being_written_is_as_private_as_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(b"old")
    file.chmod(0o640)
    with any_mode_allowed(), replacing(file) as staged:
        assert 0o600 == mode(staged)
    with any_mode_allowed(), replacing(tmp_path / "b.md", private=True) as staged:
        assert 0o600 == mode(staged)


def test_a_private_folder_and_its_parents_are_the_owners_alone(tmp_path: Path) -> None:
    with any_mode_allowed():
        make_private_folder(tmp_path / "a" / "b")
        make_private_folder(tmp_path)

    assert {0o700} == {mode(tmp_path / "a"), mode(tmp_path / "a" / "b")}


def test_what_a_killed_process_left_is_removed_by_the_next_write(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    left, others = tmp_path / ".a.md.4711-1.tmp", tmp_path / ".b.md.4711-1.tmp"
    own = tmp_path / ".a.md.tmp"
    for each in (left, others, own):
        each.write_bytes(b"half")
    replace_file(file, b"new")

    assert [".a.md.tmp", ".b.md.4711-1.tmp", "a.md"] == names(tmp_path)

    remove_leftovers(tmp_path)

    assert [".a.md.tmp", "a.md"] == names(tmp_path)


def test_what_another_writer_is_writing_is_no_leftover(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    with replacing(file) as staged:
        staged.write_bytes(b"mine")
        replacing_thread = Thread(target=replace_file, args=(file, b"theirs"))
        replacing_thread.start()
        replacing_thread.join()
        remove_leftovers(tmp_path)

        assert b"theirs" == file.read_bytes()
    assert b"mine" == file.read_bytes()
    assert ["a.md"] == names(tmp_path)


def test_a_pipe_named_like_a_leftover_does_not_stop_a_write(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".a.md.1-1.tmp")
    replace_file(tmp_path / "a.md", b"new")

    assert b"new" == (tmp_path / "a.md").read_bytes()


def test_a_private_file_is_its_owners_alone(tmp_path: Path) -> None:
    replace_file(tmp_path / "a.md", b"secret", private=True)

    assert 0o600 == mode(tmp_path / "a.md")


@pytest.mark.parametrize("follow_links", [True, False])
def test_a_link_is_followed_only_if_wanted(tmp_path: Path, follow_links: bool) -> None:  # noqa: FBT001
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    link.symlink_to(real)
    replace_file(link, b"new", follow_links=follow_links)

    assert follow_links == link.is_symlink()
    assert (b"new" if follow_links else b"old") == real.read_bytes()
    assert b"new" == link.read_bytes()


def test_whoever_writes_a_file_in_steps_removes_what_a_killed_process_left_of_it(
    tmp_path: Path,
) -> None:
    left = tmp_path / ".transcript.jsonl.4242-1.tmp"
    left.write_text("a secret", encoding="utf-8")

    with replacing(tmp_path / "transcript.jsonl", private=True) as staged:
        staged.write_bytes(b"new")

    assert ["transcript.jsonl"] == [file.name for file in tmp_path.iterdir()]
