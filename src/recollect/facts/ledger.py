"""Ledger: the facts of a memory as Markdown files that people can read, edit and version.

A fact goes to the file of its category (`preference.md`, then `preference-2.md` after a thousand)
and never moves. Superseded facts stay where they are, struck out.

Programs write one at a time, under a lock. Reading needs none, because files are replaced in one
step. A person's editor takes no lock: if a file changed since it was read, the edit is repeated.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, TypeVar

from recollect.errors import StoreBusyError, StoreError
from recollect.facts.draft import Draft
from recollect.facts.files import FORGOTTEN, UnusableFileError
from recollect.facts.page import BulletIds, Problem, parse_page
from recollect.facts.record import ID_PATTERN
from recollect.facts.state import forgotten_lines, state_of
from recollect.records import dataclass
from recollect.types import digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from recollect.facts.files import LedgerFiles
    from recollect.facts.state import LedgerState

_FORGOTTEN_LINE = re.compile(f"[0-9a-f]{{64}}|{ID_PATTERN}")
_TRIES = 5
"""How often files may change meanwhile before an edit fails, or a read takes them as they are."""
Outcome = TypeVar("Outcome")


@dataclass(frozen=True, slots=True)
class _Content:
    """The bytes of a file, and its text."""

    raw: bytes = b""
    text: str = ""

    def encoded(self, text: str) -> bytes:
        """Return a new text as the file holds it: with its byte order mark, if it has one."""
        return (codecs.BOM_UTF8 if self.raw.startswith(codecs.BOM_UTF8) else b"") + text.encode()


_ABSENT = _Content()
"""Content of a file that does not exist yet."""


class Ledger:
    """The facts in some files."""

    def __init__(self, files: LedgerFiles) -> None:
        self._files = files

    def read(self) -> LedgerState:
        """Return the content of the ledger; a missing folder is empty."""
        self._files.check()
        return self._load()[0]

    def edit(self, work: Callable[[Draft], Outcome]) -> Outcome:
        """Write all changes of `work`, or none; it is called again if a file changed meanwhile."""
        self._files.check()
        with self._files.locked():
            self._finish_forgetting()
            for _ in range(_TRIES):
                state, contents = self._load()
                draft = Draft(state)
                outcome = work(draft)
                if self._publish(draft, contents):
                    return outcome
        raise StoreBusyError(
            f"The files in {self._files.folder} keep changing while facts are written.",
            action="Close the program that writes them, and try again.",
        )

    def _load(self) -> tuple[LedgerState, Mapping[str, _Content]]:
        """Read all files as they were at one moment, or each at its own if they keep changing."""
        before = self._files.versions()
        for _ in range(_TRIES):
            contents: dict[str, _Content] = {}
            unusable: dict[str, Problem] = {}
            for name in before:
                try:
                    contents[name] = _decoded(self._files.content(name))
                except FileNotFoundError:
                    pass
                except UnusableFileError as error:
                    unusable[name] = Problem(name, 0, error.reason, error.action)
            after = self._files.versions()
            if before == after:
                break
            before = after
        unusable |= {path: Problem(path, 0, *why) for path, why in self._files.strays().items()}
        derive = BulletIds()
        pages = {
            name: parse_page(name, content.text, derive=derive)
            for name, content in contents.items()
            if name != FORGOTTEN
        }
        forgotten = frozenset(contents.get(FORGOTTEN, _ABSENT).text.split())
        digests = {name: digest_of(contents[name].raw) for name in pages}
        return state_of(pages, unusable=unusable, forgotten=forgotten, digests=digests), contents

    def _publish(self, draft: Draft, contents: Mapping[str, _Content]) -> bool:
        """Write the changes of a draft; if a file changed since loading, write nothing: False."""
        texts = draft.texts()
        added = [each for each in draft.forgotten if each not in draft.state.forgotten]
        if added or draft.unforgotten:
            before = contents.get(FORGOTTEN, _ABSENT).text.splitlines()
            kept = (each for each in before if each.strip() not in draft.unforgotten)
            # Last: the pages alone decide whether a change that was cut short is done.
            texts[FORGOTTEN] = "".join(f"{each}\n" for each in (*kept, *added))
        if any(self._current(name) != contents.get(name, _ABSENT).raw for name in texts):
            return False
        changes: dict[str, tuple[bytes | None, bytes]] = {}
        for name, text in texts.items():
            known = contents.get(name, _ABSENT)
            changes[name] = (known.raw if name in contents else None, known.encoded(text))
        self._files.replace(changes)
        if draft.forgotten:
            self._files.drop_history()
        return True

    def _finish_forgetting(self) -> None:
        """Write what a process could not, after it had removed the facts that it forgot."""
        lines = b"\n".join(self._files.unfinished()).decode(errors="replace").split()
        if not lines:
            return
        state, contents = self._load()
        known = {each for fact in state.facts.values() for each in forgotten_lines(fact)}
        draft = Draft(state)
        draft.note_forgotten(
            line for line in lines if line not in known and _FORGOTTEN_LINE.fullmatch(line)
        )
        self._publish(draft, contents)

    def _current(self, name: str) -> bytes:
        try:
            return self._files.content(name)
        except FileNotFoundError:
            return _ABSENT.raw
        except UnusableFileError as error:
            raise StoreError(f"{name} {error.reason}.", action=error.action) from error


def _decoded(raw: bytes) -> _Content:
    try:
        return _Content(raw, raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        reason = f"is not valid UTF-8 (at byte {error.start})"
        raise UnusableFileError(reason, "Save it as UTF-8.") from error
