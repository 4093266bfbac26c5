"""What a path leads to is inside the folder, a regular file and not too large, or it is refused."""

from __future__ import annotations

import gc
import os
import weakref
from contextlib import suppress
from pathlib import Path

import pytest

from recollect.text import confined
from recollect.text.confined import (
    RefusedError,
    TooLargeError,
    check_named,
    open_inside,
    read_inside,
    read_named,
    replace_inside,
    scan_inside,
)

MANY = 1000


@pytest.fixture(params=["folder by folder", "by path"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How files are opened: on some systems only by their whole path."""
    if request.param == "by path":
        monkeypatch.setattr(confined, "_HAS_FOLDER_DESCRIPTORS", False)
    return str(request.param)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_bytes(b"secret")
    (tmp_path / "root/sub").mkdir(parents=True)
    (tmp_path / "root/sub/a").write_bytes(b"content")
    return tmp_path / "root"


@pytest.mark.parametrize("target", ["sub/a", "../root/sub/a", "{root}/sub/a", "sub/../sub/a"])
def test_a_link_that_stays_inside_is_followed(root: Path, target: str) -> None:
    (root / "link").symlink_to(target.format(root=root))

    assert b"content" == read_inside(root / "link", root, max_bytes=MANY)


@pytest.mark.parametrize(
    "target", ["../outside/secret", "{root}/../outside/secret", "chain", "/dev/zero", "/"]
)
def test_a_link_that_leads_out_is_refused(root: Path, target: str) -> None:
    (root / "chain").symlink_to("../outside/secret")
    (root / "link").symlink_to(target.format(root=root))

    for work in (
        lambda: read_inside(root / "link", root, max_bytes=MANY),
        lambda: read_named(root / "link", root, max_bytes=MANY),
        lambda: replace_inside(root / "link", b"x", root),
        lambda: check_named(root / "link", root),
    ):
        with pytest.raises(RefusedError, match="is a link that leaves the folder"):
            work()
    assert b"secret" == (root / "../outside/secret").read_bytes()


def test_a_name_that_climbs_out_is_refused(root: Path) -> None:
    with pytest.raises(RefusedError, match="leaves the folder"):
        read_inside(root / "../outside/secret", root, max_bytes=MANY)


def test_a_sibling_whose_name_begins_alike_is_outside(root: Path) -> None:
    (root.parent / "rootless").write_bytes(b"secret")
    (root / "link").symlink_to("../rootless")

    with pytest.raises(RefusedError, match="leaves the folder"):
        read_inside(root / "link", root, max_bytes=MANY)


def test_a_root_that_is_a_link_was_named_by_the_user(root: Path) -> None:
    (root.parent / "alias").symlink_to(root)

    content = read_inside(root.parent / "alias/sub/a", root.parent / "alias", max_bytes=MANY)

    assert b"content" == content


def test_a_root_may_be_the_file_itself(root: Path) -> None:
    assert b"content" == read_inside(root / "sub/a", root / "sub/a", max_bytes=MANY)


@pytest.mark.parametrize("name", ["sub", ".", "pipe", "self"])
def test_what_is_no_regular_file_is_refused(root: Path, name: str) -> None:
    os.mkfifo(root / "pipe")
    (root / "self").symlink_to(".")

    with pytest.raises(OSError, match=r"regular|directory"):
        open_inside(root / name, root).close()


def test_a_link_to_the_root_does_not_open_the_folder_that_it_is_in(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "self").symlink_to(".")
    opened: list[object] = []
    open_file = os.open

    def noted(path: str | os.PathLike[str], *arguments: int, **options: int) -> int:
        opened.append(path)
        return open_file(path, *arguments, **options)

    monkeypatch.setattr(os, "open", noted)
    with pytest.raises(OSError, match=r"regular|directory"):
        read_inside(root / "self", root, max_bytes=MANY)

    assert root.parent not in opened


def test_a_file_that_is_too_large_is_refused_whether_or_not_it_says_so(root: Path) -> None:
    with pytest.raises(TooLargeError, match="is larger than"):
        read_inside(root / "sub/a", root, max_bytes=6)
    with pytest.raises(TooLargeError):
        read_named(Path("/dev/zero"), root, max_bytes=6)  # named by the user, and endless
    assert b"content" == read_inside(root / "sub/a", root, max_bytes=7)


def test_a_folder_that_becomes_a_link_after_the_check_is_not_followed(
    root: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "by path":
        pytest.skip("by its whole path a file is opened as it is then")
    check = confined.resolve_inside

    def swapped(path: Path, within: Path) -> Path:
        real = check(path, within)
        (root / "sub").rename(root / "was")
        (root / "sub").symlink_to("../outside")
        return real

    (root / "../outside/a").write_bytes(b"secret")
    (root / "link").symlink_to("sub/a")
    monkeypatch.setattr(confined, "resolve_inside", swapped)

    with pytest.raises(OSError, match=r"replaced by a link|Not a directory"):
        read_inside(root / "link", root, max_bytes=MANY)


def test_a_folder_is_listed_but_not_through_a_link(root: Path, way: str) -> None:
    with scan_inside(root / "sub", root) as entries:
        assert ["a"] == [entry.name for entry in entries]
    (root / "link").symlink_to("sub" if way == "folder by folder" else "../outside")

    with (
        pytest.raises(OSError, match=r"replaced by a link|Not a directory|leaves"),
        scan_inside(root / "link", root),
    ):
        pass


def test_a_file_is_written_with_its_folder(root: Path) -> None:
    replace_inside(root / "new/deep/b", b"b", root)

    assert b"b" == (root / "new/deep/b").read_bytes()


def test_a_missing_file_does_not_keep_what_its_callers_hold(root: Path) -> None:
    # A sync looks for an ignore file that is rarely there, while it holds a record of every file.
    class Held:
        pass

    def look() -> weakref.ref[Held]:
        held = Held()
        with suppress(FileNotFoundError):
            read_inside(root / "absent.md", root, max_bytes=MANY)
        return weakref.ref(held)

    gc.disable()
    try:
        assert look()() is None
    finally:
        gc.enable()
