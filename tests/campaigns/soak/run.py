"""Runs the processes and clients of a soak, and takes the samples."""

from __future__ import annotations

import json
import os
import random
import threading
import traceback
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from tests.campaigns.soak.clients import (
    Commands,
    Http,
    LostError,
    McpHttp,
    McpStdio,
    RefusedError,
    UnexpectedError,
)
from tests.campaigns.soak.measures import Measures
from tests.campaigns.soak.processes import Process, Vendor, pause
from tests.campaigns.soak.topics import Topics, says_behind, words_of
from tests.campaigns.soak.vendor import KEY
from tests.support.edits import Editor, save
from tests.support.history import Recorder, now
from tests.support.waiting import wait_for_descendants

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.campaigns.soak.clients import Client

NOTES = 200
TOPICS = 16
_OWN_WORDS = 100
_TRANSCRIPTS = 8
_ROWS = 40  # of a transcript before another one takes its place
_SAMPLE_SECONDS = 10.0
_FAULT_SHARE = 0.04
_KILLED_SHARE = 0.15  # of commands
_ABANDONED_SHARE = 0.1  # of MCP sessions over HTTP
_MEGABYTE = 1_000_000


class Soak:
    """One run over one folder."""

    def __init__(self, folder: Path, *, seed: int, pace: float) -> None:
        """Store the arguments.

        Args:
            folder: empty; holds everything.
            seed: of all chances; processes still differ in their timing.
            pace: factor of all pauses; 1 loads about a quarter of a core.

        """
        self.folder = folder
        self.workspace = folder / "workspace"
        self.home = folder / "home"
        self.environ: dict[str, str] = {}
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []
        self.measures = Measures(folder / "samples.jsonl")
        self.history = folder / "history.jsonl"
        self.processes: list[Process] = []
        self._pace = pace
        self._seed = seed
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._recorder = Recorder(self.history)
        self._topics = Topics(self._recorder, count=TOPICS)
        self._began = now()
        self.vendor = Vendor(folder=folder, seed=seed, share=_FAULT_SHARE)

    def run(self, *, minutes: float) -> None:
        """Let everyone work for this long, then stop all of it."""
        self._prepare()
        threads = [threading.Thread(target=self._guarded, args=(role,)) for role in self._roles()]
        self._began = now()
        for thread in threads:
            thread.start()
        while now() - self._began < minutes * 60 and not self._stopped.wait(_SAMPLE_SECONDS):
            self._sample()
        self._stopped.set()
        for thread in threads:
            thread.join()
        self._stop_processes()
        self._recorder.close()
        wait_for_descendants(self.environ)

    @property
    def calls(self) -> Recorder:
        """The history."""
        return self._recorder

    def fail(self, failure: str) -> None:
        """Take note of a violation, and say so at once."""
        with self._lock:
            self.failures.append(failure)
        print(f"FAILED at {now() - self._began:.0f} s: {failure}", flush=True)

    def count(self, what: str) -> None:
        """Count one."""
        with self._lock:
            self.counts[what] += 1

    def _prepare(self) -> None:
        self.workspace.mkdir(parents=True)
        self._editor = Editor(self.workspace, seed=self._seed)
        self._editor.populate(NOTES)
        url = self.vendor.begin()
        self.environ = {
            "HOME": str(self.folder / "user"),
            "PATH": os.environ["PATH"],
            "RECOLLECT_HOME": str(self.home),
            "RECOLLECT_PROVIDER": "openai",
            "RECOLLECT_DIMENSIONS": "64",
            "RECOLLECT_SOURCES": "memory,sessions",
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{url}/v1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        for name, arguments, is_mortal in (
            ("serve", ("serve", "--port", "0"), False),
            ("serve-killed", ("serve", "--port", "0"), True),
            ("mcp", ("mcp",), False),
            ("mcp-killed", ("mcp",), True),
            ("mcp-http", ("mcp", "--http", "127.0.0.1:0"), False),
            ("watch", ("index", "--watch", "--json"), False),
            ("watch-killed", ("index", "--watch", "--json"), True),
        ):
            command = ("-m", "recollect", "-w", str(self.workspace), *arguments)
            process = Process(
                name, command, environ=self.environ, folder=self.folder, is_mortal=is_mortal
            )
            process.start()
            self.processes.append(process)

    def _roles(self) -> list[Callable[[], None]]:
        of = {process.name: process for process in self.processes}
        session = McpHttp(of["mcp-http"], seed=self._seed, abandoned_share=_ABANDONED_SHARE)
        return [
            lambda: self._serve_client(Http(of["serve"]), seconds=0.8),
            lambda: self._serve_client(Http(of["serve-killed"]), seconds=2),
            lambda: self._client(McpStdio(of["mcp"]), seconds=1.2),
            lambda: self._client(McpStdio(of["mcp-killed"]), seconds=3),
            lambda: self._client(session, seconds=1.2),
            lambda: self._commands("command-0", seconds=14),
            lambda: self._commands("command-1", seconds=14),
            self._edit,
            self._converse,
            self._kill,
            self._kill_vendor,
        ]

    def _guarded(self, role: Callable[[], None]) -> None:
        try:
            role()
        except Exception:  # noqa: BLE001 - whatever it is, the soak has failed and says so
            self.fail(traceback.format_exc())
            self._stopped.set()

    def _client(self, client: Client, *, seconds: float) -> None:
        chance = random.Random(f"{self._seed} {client.name}")
        while pause(self._stopped, chance, seconds * self._pace):
            self._timed(client.name, lambda: self._topics.change(client, chance))

    def _serve_client(self, client: Http, *, seconds: float) -> None:
        """Change topics, save facts of its own and search for them, and look at the rest."""
        chance = random.Random(f"{self._seed} {client.name}")
        turn = 0
        while pause(self._stopped, chance, seconds * self._pace):
            turn += 1
            word = f"zo{client.name.replace('-', '')}{turn % _OWN_WORDS}"
            kinds: dict[Callable[[], str], int] = {
                lambda: self._topics.change(client, chance): 6,
                partial(self._save_and_find, client, word): 2,
                lambda: _asked(client, "/api/status"): 1,
                lambda: _asked(client, "/api/recall?prompt=harbour+violin+ledger"): 1,
                lambda: _asked(client, "/api/search?query=copper+lagoon&maxResults=8"): 4,
                lambda: _asked(client, "/api/file?path=MEMORY.md"): 1,
                lambda: _asked(client, "/api/timeline"): 1,
            }
            [kind] = chance.choices(list(kinds), weights=list(kinds.values()))
            self._timed(client.name, kind)

    def _save_and_find(self, client: Http, word: str) -> str:
        """A fact saved by a server is found by its next search, and not after it is forgotten."""
        saved = client.remember({"text": f"The chart of own shows {word}", "category": "place"})
        first = client.search(word, source="facts")
        client.forget(saved["id"])
        second = client.search(word, source="facts")
        if word not in words_of(first["results"], "own") and not says_behind(first):
            self.fail(f"{client.name} did not find {word}, which it had saved: {first}")
        if word in words_of(second["results"], "own") and not says_behind(second):
            self.fail(f"{client.name} found {word}, which it had forgotten: {second}")
        return "save, find, forget"

    def _commands(self, name: str, *, seconds: float) -> None:
        chance = random.Random(f"{self._seed} {name}")
        commands = Commands(
            self.workspace, self.environ, name=name, seed=self._seed, killed_share=_KILLED_SHARE
        )
        turn = 0
        while pause(self._stopped, chance, seconds * self._pace):
            turn += 1
            kinds: dict[Callable[[], str], int] = {
                lambda: self._topics.change(commands, chance): 8,
                partial(self._save_note_and_find, commands, name.replace("-", ""), turn): 4,
                lambda: _ran(commands, "index"): 2,
                lambda: _ran(commands, "index", "--force"): 1,
                lambda: _ran(commands, "sessions", "import"): 2,
                lambda: _ran(commands, "status"): 1,
                lambda: _checked(commands): 1,
            }
            [kind] = chance.choices(list(kinds), weights=list(kinds.values()))
            self._timed("command", kind)
        self.counts["killed commands"] += commands.kills

    def _save_note_and_find(self, commands: Commands, name: str, turn: int) -> str:
        path, word = save(self.workspace, name=name, turn=turn)
        answer = commands.search(word, source="memory")
        found = any(hit["path"] == path and word in hit["snippet"] for hit in answer["results"])
        if not found and not says_behind(answer):
            self.fail(f"{word} in {path} was not found by the command: {answer}")
        return "save a note and find it"

    def _timed(self, name: str, work: Callable[[], str]) -> None:
        began = now()
        try:
            kind = work()
        except LostError:
            self.count(f"{name}: lost")
        except RefusedError as error:
            self.count(f"{name}: refused, {error.kind}")
            self.fail(f"{name}: {error}")
        else:
            self.count(f"{name}: {kind}")
            with self._lock:
                self.measures.took(began - self._began, f"{name}: {kind}", now() - began)

    def _edit(self) -> None:
        chance = random.Random(f"{self._seed} edit")
        while pause(self._stopped, chance, 6 * self._pace):
            self._editor.edit()
            self._editor.trim(NOTES)
            self.count("edits of notes")

    def _converse(self) -> None:
        """Hold conversations as Claude Code writes them down; old ones are forgotten for good."""
        chance = random.Random(f"{self._seed} converse")
        commands = Commands(
            self.workspace, self.environ, name="sessions", seed=self._seed, killed_share=0.0
        )
        slug = "".join(each if each.isalnum() else "-" for each in str(self.workspace))
        folder = self.folder / "user" / ".claude" / "projects" / slug
        folder.mkdir(parents=True)
        rows: Counter[str] = Counter()
        number = 0
        while pause(self._stopped, chance, 8 * self._pace):
            if len(rows) < _TRANSCRIPTS:
                number += 1
                rows[f"conversation-{number}"] = 0
            name = chance.choice(list(rows))
            with (folder / f"{name}.jsonl").open("a", encoding="utf-8") as stream:
                stream.write(_said(name, rows[name], self.workspace, chance) + "\n")
            rows[name] += 1
            self.count("rows of transcripts")
            if rows[name] >= _ROWS:
                del rows[name]
                self._timed("command", partial(_forget_session, commands, folder, name))

    def _kill(self) -> None:
        chance = random.Random(f"{self._seed} kill")
        mortals = [process for process in self.processes if process.is_mortal]
        while pause(self._stopped, chance, 50 * self._pace):
            victim = chance.choice(mortals)
            victim.kill()
            self.count(f"kills of {victim.name}")
            with victim.turn:
                victim.start()

    def _kill_vendor(self) -> None:
        chance = random.Random(f"{self._seed} vendor")
        while pause(self._stopped, chance, 240 * self._pace):
            self.vendor.kill()
            self.count("kills of the embedding server")
            self._stopped.wait(chance.uniform(2, 20))
            self.vendor.begin()

    def _sample(self) -> None:
        at = now() - self._began
        for process in self.processes:
            usage = process.usage()
            if usage is None:
                continue
            name = process.name
            self.measures.add(at, name, "MB resident", usage.rss_bytes / _MEGABYTE)
            self.measures.add(at, name, "descriptors", usage.descriptors)
            self.measures.add(at, name, "threads", usage.threads)
            self.measures.add_rate(at, (name, process.starts), usage.cpu_seconds)
        for unit, files in (
            ("MB of index", (self.home / "memory").glob("*.sqlite")),
            ("MB of WAL", (self.home / "memory").glob("*.sqlite-wal")),
            ("MB of cache", (self.home / "cache").glob("*.sqlite")),
            ("MB of cache WAL", (self.home / "cache").glob("*.sqlite-wal")),
            ("MB of facts", (self.workspace / "memory" / "facts").glob("*.md")),
        ):
            self.measures.add(at, "files", unit, sum(map(_size, files)) / _MEGABYTE)

    def _stop_processes(self) -> None:
        for process in self.processes:
            code = process.stop(by_closing=process.name in {"mcp", "mcp-killed"})
            if code != 0:
                self.fail(f"{process.name} ended with {code}: {process.said[-2000:]!r}")
            if b"Traceback" in process.said or b"locked" in process.said:
                self.fail(f"{process.name} said: {process.said[-4000:].decode()}")


def _asked(client: Http, path: str) -> str:
    client.ask("GET", path)
    return path.partition("?")[0]


def _ran(commands: Commands, *arguments: str) -> str:
    commands.run(*arguments)
    return " ".join(arguments)


def _checked(commands: Commands) -> str:
    """Run `doctor`: nothing but the embedding server may be at fault."""
    wrong = [check for check in commands.run("doctor")["checks"] if not check["ok"]]
    if any(check["name"] != "provider" for check in wrong):
        raise UnexpectedError(f"doctor found {wrong}")
    return "doctor"


def _forget_session(commands: Commands, folder: Path, name: str) -> str:
    commands.run("sessions", "forget", f"{name}.jsonl", "--yes")
    (folder / f"{name}.jsonl").unlink()
    return "sessions forget"


def _said(name: str, row: int, workspace: Path, chance: random.Random) -> str:
    role = "assistant" if row % 2 else "user"
    words = " ".join(
        chance.choices(("tide", "rudder", "compass", "kettle", "prism", "tundra"), k=12)
    )
    return json.dumps(
        {
            "type": role,
            "message": {"role": role, "content": f"{words} {name} {row}"},
            "uuid": f"{name}-{row}",
            "timestamp": f"2026-02-01T09:{row % 60:02}:00Z",
            "sessionId": name,
            "cwd": str(workspace),
        }
    )


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0
