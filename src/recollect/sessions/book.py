"""SessionBook: list, import, forget and restore the conversations of a memory."""

from __future__ import annotations

import shlex
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError, UsageError, explains_system_failures
from recollect.reports import SessionStatus
from recollect.sessions.exported import conversations_of, is_export
from recollect.sessions.find import Root, find_transcripts, stored_path, title_of
from recollect.sessions.rows import DamagedError
from recollect.sessions.source import read_transcript
from recollect.sessions.transcript import Speaker
from recollect.text.confined import RefusedError, check_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import date
    from threading import RLock

    from recollect.ingest.sync import Syncer
    from recollect.reports import Failure
    from recollect.sessions.find import FoundTranscript
    from recollect.sessions.source import SessionSource

_MAX_NAMED = 10
"""Forgotten transcripts named in notices; `sessions list` names all of them."""
_NS_PER_SECOND = 1_000_000_000


@explains_system_failures
class SessionBook:
    """The conversations of a memory, and what you can do with them."""

    def __init__(self, source: SessionSource, *, syncer: Syncer, lock: RLock) -> None:
        """Store the arguments."""
        self._source = source
        self._archive = source.archive
        self._store = syncer.store
        self._syncer = syncer
        self._lock = lock

    def all(self) -> tuple[list[SessionStatus], list[Failure]]:
        """Return the transcripts of this memory, and the places that could not be read."""
        with self._lock:
            indexed = {path for _, path in self._syncer.rebuilding(self._store.known)}
        found, failures = self._source.all()
        forgotten = self.forgotten()
        return [
            SessionStatus(
                path=each.path,
                file=str(each.file),
                format=each.format.value,
                size_bytes=each.stat.size_bytes,
                is_indexed=each.path in indexed,
                is_forgotten=each.path in forgotten,
                is_imported=self._archive.contains(each),
                excluded=each.excluded or None,
                title=_title(each),
                changed=_day_of(each),
            )
            for each in found
        ], failures

    def prompts_in(self, file: Path) -> list[str]:
        """Return what the user said in a transcript, which need not belong to this memory.

        Raises:
            UnreadableError: it was deleted meanwhile.

        """
        found, _ = find_transcripts([Root(file)])
        turns = (turn for each in found for turn in read_transcript(each)[0].turns)
        return [turn.text for turn in turns if turn.speaker is Speaker.USER]

    def import_transcripts(
        self, paths: Sequence[str] = (), *, on_notice: Callable[[str], object] = lambda _: None
    ) -> list[str]:
        """Copy transcripts into the home, so that they outlive their agent's clean-up.

        Args:
            paths: files or folders of transcripts, data exports of ChatGPT or claude.ai, or the
                database of claude-mem; none means every transcript of this memory.
            on_notice: called with a sentence about what could not be imported.

        Returns the stored paths of those that are new or changed.

        Raises:
            NotFoundError: a path does not exist.
            UsageError: a path has neither transcripts nor a readable export.

        """
        self._archive.clean()
        forgotten = self.forgotten()
        exports, others = _divided(paths, workspace=self._source.workspace)
        found = _found_at(others) if paths else self._source.all()[0]
        # A copy would no longer tell that its session is excluded.
        skipped = [each.path for each in found if each.path in forgotten]
        brought: list[str] = []
        for each in found:
            if each.excluded or each.path in forgotten:
                continue
            try:
                brought += [each.path] if self._archive.add(each) else []
            except DamagedError as error:
                on_notice(f"Left out {each.path}: it cannot be decompressed ({error}).")
        for export in exports:
            brought += self._bring_export(
                export, forgotten=forgotten, skipped=skipped, on_notice=on_notice
            )
        for path in () if brought else skipped[:_MAX_NAMED]:
            undo = f"`recollect sessions forget --undo {shlex.quote(path)}`"
            on_notice(f"Left out {path}: it was forgotten. {undo} allows it to be imported.")
        return brought

    def _bring_export(
        self,
        export: Path,
        *,
        forgotten: frozenset[str],
        skipped: list[str],
        on_notice: Callable[[str], object],
    ) -> Iterator[str]:
        left_out: Counter[str] = Counter()
        for each in conversations_of(export):
            if isinstance(each, str):
                left_out[each] += 1
                continue
            path = stored_path(each.format, each.name)
            if path in forgotten:
                skipped.append(path)
            elif self._archive.add_conversation(each):
                yield path
        for reason, count in left_out.items():
            more = f" ({count} times)" if count > 1 else ""
            on_notice(f"Left out of {export}: {reason}{more}.")

    def forget(self, names: Sequence[str], *, last_copies: bool = False) -> list[str]:
        """Remove transcripts from the index for good and delete imported copies; return paths.

        Args:
            names: stored paths, file names, session ids, or titles that only one has.
            last_copies: also delete imported copies whose original is gone. Not reversible.

        Raises:
            NotFoundError: there is no such transcript.
            UsageError: an imported copy is the only one, and `last_copies` is False; or a title
                belongs to several.

        """
        chosen = self._chosen(names)
        if not last_copies and (last := self._last_copies(chosen)):
            raise UsageError(
                f"The imported copy of {', '.join(last)} is the only one: its agent's file is gone"
                " or shorter. Forgetting deletes it for good.",
                action=f"`recollect sessions forget --yes {shlex.join(last)}` deletes it.",
            )
        paths = [each.path for each in chosen]
        self._archive.write_forgotten(self.forgotten().union(paths))
        for each in chosen:
            self._archive.remove(each)

        def drop() -> None:
            known = self._store.known((self._source.kind, path) for path in paths)
            self._store.drop_many(list(known.values()))

        with self._lock:
            self._syncer.rebuilding(drop)
        return paths

    def last_copies(self, names: Sequence[str]) -> list[str]:
        """Return the paths of those transcripts of which only the imported copy is left.

        Raises:
            NotFoundError: there is no such transcript.

        """
        return self._last_copies(self._chosen(names))

    def forgotten(self) -> frozenset[str]:
        """Return the stored paths of the forgotten transcripts."""
        return self._archive.forgotten()

    def restore(self, names: Sequence[str]) -> list[str]:
        """Let the next sync index forgotten transcripts again; return their stored paths.

        An imported copy was deleted when it was forgotten and does not come back.

        Raises:
            NotFoundError: no such transcript was forgotten.

        """
        forgotten = self.forgotten()
        by_name = {name: path for path in forgotten for name in _names(path)}
        for name in names:
            if name not in by_name:
                listed = ", ".join(sorted(forgotten)) or "none"
                raise NotFoundError(
                    f"No transcript {name} was forgotten.",
                    action=f"Forgotten transcripts: {listed}.",
                )
        chosen = [by_name[name] for name in names]
        self._archive.write_forgotten(forgotten.difference(chosen))
        return chosen

    def _chosen(self, names: Sequence[str]) -> list[FoundTranscript]:
        found, _ = self._source.all()
        by_name = {name: each for each in found for name in _names(each.path)}
        return [by_name.get(name) or _titled(name, found) for name in names]

    def _last_copies(self, chosen: Sequence[FoundTranscript]) -> list[str]:
        sizes = self._source.original_sizes()
        return [
            each.path
            for each in chosen
            if self._archive.contains(each) and sizes.get(each.path, -1) < each.stat.size_bytes
        ]


def _names(path: str) -> tuple[str, ...]:
    """Return how a transcript may be named: by its stored path, its file name or its session id."""
    name = Path(path).name
    return path, name, name.partition(".")[0]


def _divided(paths: Sequence[str], *, workspace: Path) -> tuple[list[Path], list[str]]:
    """Return the data exports among some paths, and the paths that may have transcripts."""
    exports: list[Path] = []
    others: list[str] = []
    for path in paths:
        place = Path(path).expanduser()
        if not place.exists():
            raise NotFoundError(f"{path} does not exist.", action="Correct the path.")
        try:
            check_named(place, workspace)
        except RefusedError as error:
            action = "If the link is your own, name what it leads to."
            raise UsageError(f"{path} {error}.", action=action) from error
        if is_export(place):
            exports.append(place)
        if place.is_dir() or not is_export(place):
            others.append(path)
    return exports, others


def _found_at(paths: Sequence[str]) -> list[FoundTranscript]:
    for path in paths:
        found, failures = find_transcripts([Root(Path(path))])
        if failures:
            raise UsageError(f"{failures[0].path} {failures[0].reason}.", action=failures[0].action)
        if not found and not is_export(Path(path).expanduser()):
            raise UsageError(
                f"Nothing was found in {path}: no transcript, and no export of ChatGPT or"
                " claude.ai.",
                action="Name a transcript, a folder of them, or an export as downloaded.",
            )
    return find_transcripts([Root(Path(path)) for path in paths])[0]


def _titled(title: str, found: Sequence[FoundTranscript]) -> FoundTranscript:
    """Return the only transcript with a title."""
    matching = [each for each in found if title and _title(each).casefold() == title.casefold()]
    if len(matching) > 1:
        raise UsageError(
            f"{len(matching)} transcripts have the title {title!r}.",
            action=f"Name one of them: {', '.join(each.path for each in matching[:_MAX_NAMED])}.",
        )
    if not matching:
        raise NotFoundError(
            f"This memory has no transcript {title}.",
            action="`recollect sessions list` shows their names.",
        )
    return matching[0]


def _title(found: FoundTranscript) -> str:
    try:
        return title_of(found)
    except OSError:  # a sync says that it cannot be read
        return ""


def _day_of(found: FoundTranscript) -> date | None:
    seconds = found.stat.mtime_ns // _NS_PER_SECOND
    return datetime.fromtimestamp(seconds, UTC).date() if seconds > 0 else None
