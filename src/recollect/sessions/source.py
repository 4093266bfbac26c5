"""Conversations as a source: which transcripts belong to this memory, and how they are taken in.

Joins `sessions`, which knows transcripts, with `ingest`, which knows sources. Transcripts that were
imported are kept in the home, where no agent deletes them; those that were forgotten stay so, even
when the index is made anew.
"""

from __future__ import annotations

import json
import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import NotFoundError, UsageError
from recollect.ingest.read import UnreadableError
from recollect.ingest.source import Taken
from recollect.ingest.walk import Found
from recollect.reports import Excerpt, Failure, SessionStatus
from recollect.sessions.archive import has_all, keep, kept_under
from recollect.sessions.find import Root, default_roots, find_transcripts
from recollect.sessions.header import is_of_workspace
from recollect.sessions.project import PROJECTION_VERSION, ProjectOptions, document_of, project
from recollect.sessions.read import read_transcript
from recollect.text.files import replace_file
from recollect.text.terms import TERMS_VERSION
from recollect.types import SourceKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from recollect.sessions.find import Found as FoundTranscript

_TOP = "sessions"
SESSIONS_TOP = f"{_TOP}/"
"""With what the stored path of every transcript begins."""
NOT_SEARCHED = 'Transcripts are not indexed: set sources = ["memory", "sessions"] in your settings.'
_FORGOTTEN = "forgotten.json"


@dataclass(frozen=True, slots=True)
class SessionPlaces:
    """Whose conversations, and where they are."""

    workspace: Path
    agent: str | None
    """OpenClaw's agent, where one was named; None goes by the folder a conversation was held in."""
    user_home: Path
    environ: Mapping[str, str]
    extra: tuple[str, ...]
    """Files, folders and globs of the settings: all that is there belongs to this memory."""
    archive: Path
    """Imported transcripts of this memory, and the list of forgotten ones."""


class SessionSource:
    """The transcripts of OpenClaw, Claude Code and Codex that belong to a memory."""

    kind = SourceKind.SESSIONS

    def __init__(self, places: SessionPlaces, *, options: ProjectOptions) -> None:
        self._places = places
        self._options = options
        self._transcripts: dict[str, FoundTranscript] = {}

    @property
    def recipe(self) -> str:
        """Return the identity of the rules of projection and terms."""
        options = self._options
        return f"s{PROJECTION_VERSION}.{options.tokens}.{options.overlap}-t{TERMS_VERSION}"

    def find(self) -> tuple[list[Found], list[Failure]]:
        """Return the transcripts that belong here and were not forgotten."""
        found, failures = self.all()
        forgotten = self.forgotten()
        self._transcripts = {each.path: each for each in found if each.path not in forgotten}
        if failures:
            # A folder that cannot be listed now must not empty the index of its conversations.
            failures = [*failures, Failure(_TOP, "may be incomplete", failures[0].action)]
        return [
            Found(each.path, each.file, each.stat, self.kind) for each in self._transcripts.values()
        ], failures

    def all(self) -> tuple[list[FoundTranscript], list[Failure]]:
        """Return every transcript that belongs here, forgotten or not."""
        named, failures = find_transcripts(self._named_roots())
        placed, more = find_transcripts(
            default_roots(self._places.user_home, environ=self._places.environ)
        )
        failures += more
        own = {each.path: each for each in named}
        for each in placed:
            try:
                # Of an imported copy and its original, the one that went on has more to say.
                kept = own.get(each.path)
                has_more = kept is None or kept.stat.size_bytes < each.stat.size_bytes
                if has_more and is_of_workspace(
                    each, workspace=self._places.workspace, agent=self._places.agent
                ):
                    own[each.path] = each
            except OSError as error:
                reason = f"cannot be read: {error.strerror}"
                failures.append(Failure(str(each.file), reason, "Make it readable."))
        return sorted(own.values(), key=lambda each: each.path), failures

    def take(self, found: Found) -> Taken:
        """Read a transcript as a document."""
        reading = read_transcript(self._transcripts[found.path])
        if isinstance(reading, Failure):
            raise UnreadableError(reading)
        document, chunks = document_of(
            reading.transcript,
            path=found.path,
            stat=reading.stat,
            now_ns=time.time_ns(),
            options=self._options,
        )
        return Taken(document, lambda: chunks)

    def excerpt(self, path: str, *, start_line: int, lines: int) -> Excerpt:
        """Return what was said in some lines of a transcript.

        Raises:
            NotFoundError: there is no such transcript, or it cannot be read.

        """
        self.find()
        found = self._transcripts.get(path)
        reading = read_transcript(found) if found else Failure(path, "is not there", "")
        if isinstance(reading, Failure):
            raise NotFoundError(
                f"{path} {reading.reason}.",
                action=reading.action or "`recollect sessions list` shows what there is.",
            )
        said = project(reading.transcript, options=self._options).lines
        start = max(1, start_line)
        shown = [line for line in said if start <= line.number < start + max(1, lines)]
        following = (line.number for line in said if line.number >= start + max(1, lines))
        return Excerpt(
            path=path,
            start_line=start,
            lines=len(shown),
            text="\n".join(line.text for line in shown),
            next_line=next(following, None),
        )

    def places(self) -> list[Path]:
        """Return the folders and files in which transcripts come and grow."""
        roots = default_roots(self._places.user_home, environ=self._places.environ)
        return [root.place for root in (*self._named_roots(), *roots) if root.place.exists()]

    def forgotten(self) -> frozenset[str]:
        """Return the paths of transcripts that must not come back."""
        try:
            listed = json.loads((self._places.archive / _FORGOTTEN).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return frozenset()
        return frozenset(map(str, listed))

    def statuses(self, indexed: Collection[str]) -> tuple[list[SessionStatus], list[Failure]]:
        """Return every transcript that belongs here with what became of it."""
        found, failures = self.all()
        forgotten = self.forgotten()
        return [
            SessionStatus(
                path=each.path,
                file=str(each.file),
                format=each.format.value,
                size_bytes=each.stat.size_bytes,
                is_indexed=each.path in indexed,
                is_forgotten=each.path in forgotten,
                is_imported=each.file.is_relative_to(self._places.archive),
                excluded=each.excluded or None,
            )
            for each in found
        ], failures

    def bring(self, paths: Sequence[str]) -> list[str]:
        """Copy transcripts into the home, so that they outlive their agent's clean-up.

        Args:
            paths: files or folders; none means all that belong here.

        Returns the stored paths of those that are new or grew.

        """
        if paths:
            for path in paths:
                if not Path(path).expanduser().exists():
                    raise NotFoundError(f"There is no {path}.", action="Correct the path.")
            found, failures = find_transcripts([Root(Path(path)) for path in paths])
            if failures:
                raise UsageError(
                    f"{failures[0].path} {failures[0].reason}.", action=failures[0].action
                )
        else:
            found, _ = self.all()
        brought = []
        forgotten = self.forgotten()
        for each in found:
            if each.path in forgotten:
                continue
            copy = self._copy_of(each)
            if each.file == copy or has_all(copy, of=each.file):
                continue
            copy.parent.mkdir(parents=True, exist_ok=True)
            keep(each.file, copy)
            brought.append(each.path)
        return brought

    def forget(self, names: Sequence[str], *, last_copies: bool) -> list[str]:
        """Never index these again, and delete imported copies; return their stored paths.

        Raises:
            NotFoundError: there is no such transcript.
            UsageError: the imported copy is the only one, and nobody said that it may go.

        """
        chosen = self._chosen(names)
        if not last_copies and (last := self._last_of(chosen)):
            raise UsageError(
                f"The imported copy of {', '.join(last)} is the only one: its agent's file is gone"
                " or holds less. Forgetting deletes it, and nothing brings it back.",
                action=f"`recollect sessions forget --yes {shlex.join(last)}` deletes it.",
            )
        self._write_forgotten(self.forgotten() | {each.path for each in chosen})
        for each in chosen:
            # The original is what was found if it went on: the copy goes all the same.
            self._copy_of(each).unlink(missing_ok=True)
            if each.file.is_relative_to(self._places.archive):
                each.file.unlink(missing_ok=True)
        return [each.path for each in chosen]

    def last_copies(self, names: Sequence[str]) -> list[str]:
        """Return the paths of those that exist nowhere but in the home, as imported.

        Raises:
            NotFoundError: there is no such transcript.

        """
        return self._last_of(self._chosen(names))

    def _last_of(self, chosen: Sequence[FoundTranscript]) -> list[str]:
        roots = default_roots(self._places.user_home, environ=self._places.environ)
        originals, _ = find_transcripts([*self._named_roots()[1:], *roots])
        sizes = {each.path: each.stat.size_bytes for each in originals}
        return [
            each.path
            for each in chosen
            if each.file.is_relative_to(self._places.archive)
            and sizes.get(each.path, -1) < each.stat.size_bytes
        ]

    def _chosen(self, names: Sequence[str]) -> list[FoundTranscript]:
        found, _ = self.all()
        by_name = {name: each for each in found for name in (each.path, each.file.name)}
        by_name |= {each.file.name.partition(".")[0]: each for each in found}
        for name in names:
            if name not in by_name:
                raise NotFoundError(
                    f"There is no transcript {name} of this memory.",
                    action="`recollect sessions list` shows their names.",
                )
        return [by_name[name] for name in names]

    def restore(self, names: Sequence[str]) -> list[str]:
        """Let forgotten transcripts be indexed again; return their stored paths.

        Raises:
            NotFoundError: no such transcript was forgotten.

        """
        forgotten = self.forgotten()
        by_name = {Path(path).name.partition(".")[0]: path for path in forgotten}
        by_name |= {Path(path).name: path for path in forgotten}
        by_name |= {path: path for path in forgotten}
        for name in names:
            if name not in by_name:
                listed = ", ".join(sorted(forgotten)) or "none"
                raise NotFoundError(
                    f"No transcript {name} was forgotten.", action=f"Those that were: {listed}."
                )
        chosen = [by_name[name] for name in names]
        self._write_forgotten(forgotten - {*chosen})
        return chosen

    def _copy_of(self, found: FoundTranscript) -> Path:
        """Return where an imported copy is kept, or would be."""
        return self._places.archive.joinpath(*kept_under(found), found.file.name)

    def _named_roots(self) -> list[Root]:
        roots = [Root(self._places.archive, is_optional=True)]
        for given in self._places.extra:
            path = Path(given).expanduser()
            whole = path if path.is_absolute() else self._places.workspace / path
            if any(mark in given for mark in "*?["):
                base = Path(whole.anchor)
                roots += [Root(each) for each in base.glob(str(whole.relative_to(base)))]
            else:
                roots.append(Root(whole))
        return roots

    def _write_forgotten(self, paths: frozenset[str]) -> None:
        folder = self._places.archive
        folder.mkdir(parents=True, exist_ok=True)
        listed = json.dumps(sorted(paths), ensure_ascii=False, indent=1)
        replace_file(folder / _FORGOTTEN, listed.encode(), private=True)


class SessionBook:
    """What a person can do with the conversations of a memory."""

    def __init__(
        self,
        source: SessionSource,
        *,
        indexed: Callable[[], Collection[str]],
        drop: Callable[[str], object],
    ) -> None:
        """Store the parts.

        Args:
            source: of the transcripts.
            indexed: tells which documents are in the index.
            drop: takes one out of it.

        """
        self._source = source
        self._indexed = indexed
        self._drop = drop

    def all(self) -> tuple[list[SessionStatus], list[Failure]]:
        """Return the transcripts that belong here, and what could not be looked at."""
        return self._source.statuses(self._indexed())

    def bring(self, paths: Sequence[str] = ()) -> list[str]:
        """Keep transcripts in the home, whatever their agent does with them; return which.

        Raises:
            NotFoundError: a path is not there.
            UsageError: a path is no transcript.

        """
        return self._source.bring(paths)

    def forget(self, names: Sequence[str], *, last_copies: bool = False) -> list[str]:
        """Take transcripts out of the index for good, and delete imported copies; return paths.

        Args:
            names: paths, file names or session ids.
            last_copies: also those whose imported copy is the only one: nothing brings them back.

        Raises:
            NotFoundError: there is no such transcript.
            UsageError: an imported copy is the only one, and `last_copies` is not given.

        """
        forgotten = self._source.forget(names, last_copies=last_copies)
        for path in forgotten:
            self._drop(path)
        return forgotten

    def last_copies(self, names: Sequence[str]) -> list[str]:
        """Return which of these exist nowhere but in the home, as imported.

        Raises:
            NotFoundError: there is no such transcript.

        """
        return self._source.last_copies(names)

    def forgotten(self) -> frozenset[str]:
        """Return the paths of transcripts that stay out."""
        return self._source.forgotten()

    def restore(self, names: Sequence[str]) -> list[str]:
        """Let forgotten transcripts be indexed again by the next sync; return their paths.

        An imported copy was deleted when it was forgotten and does not come back.

        Raises:
            NotFoundError: no such transcript was forgotten.

        """
        return self._source.restore(names)
