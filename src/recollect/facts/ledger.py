"""The facts of a workspace as Markdown that people read, edit and keep under version control.

A fact goes to the file of its category (`preference.md`, then `preference-2.md` after a thousand)
and never moves: files are about one subject, of a size that a person reads, and a change is a line
in one of them. Superseded facts stay where they are, struck out.

Programs write one at a time, under a lock, on what they read inside it. Reading needs no lock,
because files are replaced in one step. A person's editor takes no lock: if a file changed since it
was read, the work is done again on what is there now.
"""

from __future__ import annotations

import errno
import os
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from recollect.errors import StoreBusyError, StoreError, StoreFullError, StoreReadOnlyError
from recollect.facts.disk import ABSENT, UnusableError, read_content
from recollect.facts.draft import Draft, Naming, state_of
from recollect.facts.lock import held
from recollect.facts.page import Problem, parse_page
from recollect.text.files import replace_file
from recollect.types import Stat, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from recollect.facts.disk import Content
    from recollect.facts.draft import LedgerState
    from recollect.facts.page import Page
    from recollect.facts.record import Fact

LOCK = ".lock"
FORGOTTEN = ".forgotten"
"""Digests, one a line: what was forgotten is not to be read there."""
DEFAULT_WAIT_SECONDS = 10.0

_TRIES = 5
"""How often a person's editor may be faster before one gives up."""
_FULL = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)})
_NOT_FACTS = frozenset({"readme.md"})
_STRAY = (
    "lies in a folder below memory/facts, where nothing is read",
    "Move it up if it holds facts; a note belongs elsewhere in memory/.",
)

Outcome = TypeVar("Outcome")


class Ledger:
    """The facts in a folder."""

    def __init__(self, folder: Path, *, wait_seconds: float = DEFAULT_WAIT_SECONDS) -> None:
        self._folder = folder
        self._wait_seconds = wait_seconds

    def read(self) -> LedgerState:
        """Return what the ledger holds; a folder that is not there holds nothing."""
        shelf = _Shelf.load(self._folder)
        state = state_of(shelf.pages, unusable=shelf.unusable, forgotten=shelf.forgotten)
        return replace(state, digests=shelf.digests())

    def strays(self) -> tuple[str, ...]:
        """Return the Markdown files below the folder, which are not read: by their paths in it."""
        return tuple(_strays(self._folder))

    def stats(self) -> dict[str, Stat]:
        """Return what one `stat` call tells of each file, readable or not, without reading it."""
        found: dict[str, Stat] = {}
        for name in _names(self._folder):
            with suppress(FileNotFoundError):  # deleted since the folder was listed
                status = (self._folder / name).lstat()
                found[name] = Stat(status.st_size, status.st_mtime_ns)
        return found

    def edit(self, work: Callable[[Draft], Outcome]) -> Outcome:
        """Change several facts at once: all of it is written, or nothing.

        Args:
            work: makes the changes to the draft; is called again if a person was faster.

        Raises:
            StoreBusyError: another program did not let go of the ledger.
            StoreError: it cannot be written.

        """
        with ExitStack() as stack:
            with _told(self._folder):
                self._folder.mkdir(parents=True, exist_ok=True)
                lock = held(self._folder / LOCK, wait_seconds=self._wait_seconds)
                stack.enter_context(lock)
            for _ in range(_TRIES):
                shelf = _Shelf.load(self._folder)
                draft = Draft(shelf.pages, unusable=shelf.unusable, forgotten=shelf.forgotten)
                outcome = work(draft)
                with _told(self._folder):
                    if shelf.publish(draft):
                        return outcome
        raise StoreBusyError(
            f"The files in {self._folder} keep changing while facts are written.",
            action="Close the program that writes them, and try again.",
        )

    def add(self, fact: Fact) -> Fact:
        """Add a fact and return it as it stands: with another id if its own was taken."""
        return self.edit(lambda draft: draft.add(fact))

    def add_all(self, facts: Iterable[Fact]) -> tuple[Fact, ...]:
        """Add facts and return them as they stand."""
        given = tuple(facts)
        return self.edit(lambda draft: tuple(draft.add(fact) for fact in given))

    def change(self, fact_id: str, alter: Callable[[Fact], Fact]) -> Fact:
        """Change a fact in its place and return it.

        Raises:
            NotFoundError: there is no such fact.

        """
        return self.edit(lambda draft: draft.change(fact_id, alter))

    def remove(self, fact_id: str) -> Fact:
        """Remove a fact and return what it was.

        Raises:
            NotFoundError: there is no such fact.

        """
        return self.edit(lambda draft: draft.remove(fact_id))

    def forget(self, fact_id: str) -> Fact:
        """Remove a fact for good: extraction cannot bring it back.

        Raises:
            NotFoundError: there is no such fact.

        """
        return self.edit(lambda draft: draft.forget(fact_id))


class _Shelf:
    """The files of the ledger as they were at one moment."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._contents: dict[str, Content] = {}
        self.pages: dict[str, Page] = {}
        self.unusable: dict[str, Problem] = {}
        """What cannot be read, by its path in the folder."""
        self.forgotten: frozenset[str] = frozenset()

    @classmethod
    def load(cls, folder: Path) -> _Shelf:
        """Read all files, in the order of their names."""
        shelf = cls(folder)
        derive = Naming()
        for name in _names(folder):
            content = shelf._take(name)
            if content is not None:
                shelf.pages[name] = parse_page(name, content.text, derive=derive)
        for path in _strays(folder):
            shelf.unusable[path] = Problem(path, 0, *_STRAY)
        content = shelf._take(FORGOTTEN)
        shelf.forgotten = frozenset((content or ABSENT).text.split())
        return shelf

    def digests(self) -> dict[str, str]:
        """Return the digest of each file's content."""
        return {name: digest_of(self._contents[name].raw) for name in self.pages}

    def publish(self, draft: Draft) -> bool:
        """Write what the draft changes; nothing, and False, if a file is not what it was."""
        texts = draft.texts()
        if left := [digest for digest in draft.forgotten if digest not in self.forgotten]:
            before = self._contents.get(FORGOTTEN, ABSENT).text
            texts[FORGOTTEN] = before + "".join(f"{digest}\n" for digest in left)
        if any(self._now(name) != self._contents.get(name, ABSENT).raw for name in texts):
            return False
        for name, text in texts.items():
            content = self._contents.get(name, ABSENT)
            replace_file(self._folder / name, content.encoded(text), follow_links=False)
        return True

    def _take(self, name: str) -> Content | None:
        try:
            content = read_content(self._folder / name)
        except FileNotFoundError:
            return None
        except UnusableError as error:
            self.unusable[name] = Problem(name, 0, error.reason, error.action)
            return None
        self._contents[name] = content
        return content

    def _now(self, name: str) -> bytes:
        try:
            return read_content(self._folder / name).raw
        except FileNotFoundError:
            return ABSENT.raw
        except UnusableError as error:
            raise StoreError(f"{name} {error.reason}.", action=error.action) from error


def _names(folder: Path) -> list[str]:
    try:
        names = [entry.name for entry in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(
        name
        for name in names
        if name.endswith(".md") and name[0] != "." and name.lower() not in _NOT_FACTS
    )


def _strays(folder: Path) -> list[str]:
    """Return the Markdown files in folders below; what cannot be listed holds none."""
    found: list[str] = []
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name[0] != "."]
        below = Path(top).relative_to(folder)
        if below.parts:
            marked = [name for name in names if name.lower().endswith(".md") and name[0] != "."]
            found += [(below / name).as_posix() for name in marked]
    return sorted(found)


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise StoreFullError(
                f"There is no room for facts in {folder}.",
                action="Free space and run again; what was there is intact.",
            ) from error
        if error.errno == errno.ELOOP:
            raise StoreError(
                f"{folder / LOCK} is a link.", action="Remove it: it is made anew."
            ) from error
        raise StoreReadOnlyError(
            f"Facts cannot be written to {folder} ({error.strerror}).",
            action="Change the permissions of the folder.",
        ) from error
