"""A file is replaced in one step: old or new, never half, with its mode and links as they were."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from recollect.text.files import replace_file, replacing

if TYPE_CHECKING:
    from pathlib import Path


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def test_a_file_gets_its_new_content_and_nothing_stays_beside_it(tmp_path: Path) -> None:
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
    replace_file(file, b"new", private=True)

    assert (b"new", existing) == (file.read_bytes(), mode(file))


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
