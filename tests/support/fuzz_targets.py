"""Everything that reads what strangers wrote, as functions from bytes, for the fuzzers.

A target fails by raising anything that its caller would not catch: only documented errors are
expected. What must hold of the outcome is asserted.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import tempfile
import zipfile
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pydantic import BaseModel, ValidationError
from tests.support.fuzz_samples import (
    AGENT_SETTINGS,
    CASE,
    CONVERSATIONS,
    EXTRACTED,
    OPENCLAW,
    ROWS,
)
from tests.support.fuzzing import Choices, words_of
from tests.support.routes import ROUTES

from recollect.config.edit import write_settings
from recollect.config.load import load_config
from recollect.config.openclaw import translate
from recollect.config.schema import SETTINGS
from recollect.errors import RecollectError
from recollect.evaluate.cases import read_cases
from recollect.facts.extract.answer import parse_facts
from recollect.facts.page import edited, parse_page, visible_text
from recollect.facts.record import derive_id
from recollect.ingest.chunk import chunk
from recollect.ingest.front_matter import front_matter
from recollect.ingest.options import ChunkOptions
from recollect.ingest.read import excerpt, when_of
from recollect.ingest.walk import IGNORE_FILE, ignored_by
from recollect.install.agents import AgentEntry, AgentFile, Syntax
from recollect.install.edit import with_entries, without_entries
from recollect.memory import Memory
from recollect.sessions.clean import RECALLED, flatten, without_blocks, without_internal_context
from recollect.sessions.exported import conversations_of
from recollect.sessions.find import folder_of, format_of
from recollect.sessions.project import ProjectOptions, document_of, project
from recollect.sessions.rows import row_of, whole_lines
from recollect.sessions.source import read_lines, reader_of
from recollect.sessions.transcript import TranscriptFormat
from recollect.shells.http.parameters import invalid
from recollect.shells.mcp.render import path_of, uri_of
from recollect.shells.mcp.tools import parse_arguments, tools_for
from recollect.shells.parse import parse_location
from recollect.text.claims import compare_claims
from recollect.text.date_words import window
from recollect.text.days import parse_day
from recollect.text.globs import matches
from recollect.text.phrases import contains_all, phrases_in
from recollect.text.redact import redact
from recollect.text.safe import fenced, neutralised, on_one_line
from recollect.text.terminal import terminal_json, terminal_line, terminal_text
from recollect.text.terms import character_terms, query_terms, terms
from recollect.types import Document, SearchRequest, SourceKind, Stat, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable

_TODAY = date(2026, 2, 1)
_STAT = Stat(1, 1)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Target:
    """Something to feed, and the words that it looks for."""

    run: Callable[[Choices], None]
    places: tuple[str, ...]
    """Modules and packages that it is meant for."""
    words: tuple[str, ...]
    share: int = 1
    """How many inputs it gets, so that each target gets about the same time."""

    def feed(self, content: bytes) -> None:
        """Run it on an input; only what is a fault comes out."""
        with contextlib.suppress(RecollectError):
            self.run(Choices(content, self.words))


TARGETS: dict[str, Target] = {}


def target(
    *places: str, share: int = 1, words: tuple[str, ...] = ()
) -> Callable[[Callable[[Choices], None]], None]:
    """Register a target that looks for the words in these modules, and some more."""

    def register(run: Callable[[Choices], None]) -> None:
        TARGETS[run.__name__] = Target(run, places, (*words_of(*places), *words), share)

    return register


@cache
def folder() -> Path:
    """Return a folder of this process, in memory where there is such a place."""
    shared = Path("/dev/shm")  # noqa: S108 - the folder in it is private
    place = str(shared) if shared.is_dir() else None
    return Path(tempfile.mkdtemp(prefix=f"recollect-fuzz-{os.getpid()}-", dir=place))


@target("ingest/markdown.py", "ingest/chunk.py", "text/merge_conflicts.py", share=8)
def markdown(choices: Choices) -> None:
    path = choices.one_of(("memory/a.md", "MEMORY.md", "memory/2026-02-01.md"))
    options = ChunkOptions(tokens=choices.one_of((400, 80, 8)), overlap=choices.one_of((80, 0, 7)))
    text = choices.raw_or_text().replace("\r\n", "\n").replace("\r", "\n")
    top = front_matter(text)
    document = Document(
        path, SourceKind.MEMORY, text, digest_of(text.encode("utf-8", "replace")), _STAT,
        when_of(path, front_matter=top.fields), top.body_line,
    )  # fmt: skip
    count = text.count("\n") + 1
    for each in chunk(document, options=options):
        assert 1 <= each.start_line <= each.end_line <= count
        assert each.text.strip()
        terms(each.text)


@target("ingest/read.py", "ingest/front_matter.py", share=240)
def front(choices: Choices) -> None:
    path = choices.text(6)
    text = f"---\n{choices.raw_or_text()}"
    top = front_matter(text)
    assert 1 <= top.body_line <= text.count("\n") + 2
    when_of(path, front_matter=top.fields)
    shown = excerpt(text, path=path, start_line=1 + choices.below(5), lines=1 + choices.below(200))
    assert shown.lines >= 0


def _transcript(choices: Choices, form: TranscriptFormat) -> None:
    if choices.below(4) == 0:
        content = choices.rest()
    else:
        rows = [choices.changed(choices.one_of(ROWS[form])) for _ in range(1 + choices.below(8))]
        content = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    lines = list(whole_lines(io.BytesIO(content)))
    for _, line in lines:
        row = row_of(line)
        if row is not None:
            format_of(row)
            folder_of(row, form)
    transcript = read_lines(lines, reader_of(form, is_archive=bool(choices.below(2))))
    options = ProjectOptions(tokens=16, overlap=8)
    project(transcript, options=options)
    _, chunks = document_of(
        transcript, path="sessions/a.jsonl", stat=_STAT, now_ns=10**18, options=options
    )
    assert all(1 <= each.start_line <= each.end_line for each in chunks)


def _sessions(*more: str) -> tuple[str, ...]:
    return (
        *more,
        "sessions/clean.py",
        "sessions/rows.py",
        "sessions/find.py",
        "sessions/source.py",
    )


@target(*_sessions("sessions/openclaw.py"), share=70)
def openclaw_transcript(choices: Choices) -> None:
    _transcript(choices, TranscriptFormat.OPENCLAW)


@target(*_sessions("sessions/claude_code.py"), share=70)
def claude_code_transcript(choices: Choices) -> None:
    _transcript(choices, TranscriptFormat.CLAUDE_CODE)


@target(*_sessions("sessions/codex.py"), share=70)
def codex_transcript(choices: Choices) -> None:
    _transcript(choices, TranscriptFormat.CODEX)


@target(*_sessions("sessions/exported.py"), share=70)
def chatgpt_transcript(choices: Choices) -> None:
    _transcript(choices, TranscriptFormat.CHATGPT)


@target(*_sessions("sessions/exported.py"), share=70)
def claude_ai_transcript(choices: Choices) -> None:
    _transcript(choices, TranscriptFormat.CLAUDE_AI)


@target("sessions/clean.py", "text/redact.py", "text/secrets", share=80)
def messages(choices: Choices) -> None:
    text = choices.raw_or_text()
    without_internal_context(without_blocks(text, RECALLED))
    flatten(text)
    redact(text)


@target("sessions/exported.py", share=22)
def export(choices: Choices) -> None:
    kind = choices.below(3)
    if choices.below(4) == 0:
        content = choices.rest()
    else:
        samples = [choices.one_of(CONVERSATIONS) for _ in range(1 + choices.below(3))]
        content = json.dumps(choices.changed(samples)).encode()
    if kind == 0:
        place = folder() / "conversations.json"
        place.write_bytes(content)
    elif kind == 1:
        place = folder() / "export"
        place.mkdir(exist_ok=True)
        (place / "conversations-1.json").write_bytes(content)
    else:
        place = folder() / "export.zip"
        place.write_bytes(_zipped(content, choices))
    for each in conversations_of(place):
        if not isinstance(each, str):
            assert "/" not in each.name
            reader = reader_of(each.format, is_archive=False)
            read_lines(whole_lines(io.BytesIO(each.content)), reader)


def _zipped(content: bytes, choices: Choices) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("conversations.json", content)
    changed = bytearray(packed.getvalue())
    for _ in range(choices.below(6)):
        changed[choices.below(len(changed)) % len(changed)] = choices.below(256)
    return (
        bytes(changed[: len(changed) - choices.below(64)])
        if choices.below(4) == 0
        else bytes(changed)
    )


@target("facts/page.py", "facts/entry.py", "facts/record.py", "facts/scope.py", share=22)
def ledger(choices: Choices) -> None:
    name = choices.one_of(("preference.md", "other.md", "decision-2026.md"))
    text = choices.raw_or_text() if choices.below(3) == 0 else _bullets(choices)
    page = parse_page(name, text, derive=derive_id)
    assert text == edited(page, changed={}, added=())
    visible_text(name, text, scopes=("global", "user:ada"))
    facts = [entry.fact for entry in page.entries]
    if facts:
        rewritten = edited(page, changed={page.entries[0].first: facts[0]}, added=facts[:1])
        assert parse_page(name, rewritten, derive=derive_id).entries


def _bullets(choices: Choices) -> str:
    lines = []
    for _ in range(1 + choices.below(5)):
        fields = "".join(f" {choices.word()}={choices.word()}" for _ in range(choices.below(6)))
        lines.append(f"- {choices.text(5)} <!-- {fields} -->\n")
    return "".join(lines)


@target("facts/extract/answer.py", "text/json_objects.py", share=130)
def extracted_facts(choices: Choices) -> None:
    if choices.below(2):
        answer = choices.raw_or_text()
    else:
        facts = [json.dumps(choices.changed(EXTRACTED)) for _ in range(1 + choices.below(4))]
        answer = choices.one_of(("\n", ", ", "\n```\n", "")).join(facts)
    found, _ = parse_facts(answer)
    assert all(each.text for each in found)


@target("config", "ingest/options.py", "text/setting.py", share=80, words=tuple(SETTINGS))
def settings(choices: Choices) -> None:
    workspace = folder() / "workspace"
    workspace.mkdir(exist_ok=True)
    texts = {workspace / "recollect.toml": _toml(choices), folder() / "user.toml": _toml(choices)}
    environ = {
        f"RECOLLECT_{choices.word().upper()}": choices.word() for _ in range(choices.below(3))
    }
    config = load_config(
        workspace, user_file=folder() / "user.toml", environ=environ, arguments={}, texts=texts
    )
    assert config.values


def _toml(choices: Choices) -> str:
    if choices.below(4) == 0:
        return choices.text()
    lines = [f"{choices.word()} = {_toml_value(choices)}" for _ in range(choices.below(5))]
    return "\n".join(lines)


def _toml_value(choices: Choices) -> str:
    value = choices.value(5)
    return json.dumps(value) if value is not None else choices.word()


@target("config/edit.py", "config/schema.py", share=40)
def settings_edit(choices: Choices) -> None:
    file = folder() / "edited.toml"
    file.write_text(_toml(choices), encoding="utf-8", errors="replace")
    value = choices.one_of(("text", 7, True, ["a"], None))
    write_settings(file, {choices.one_of(("mmr.enabled", "extra_paths", "provider")): value})


@target("config/openclaw.py", share=5)
def openclaw_config(choices: Choices) -> None:
    file = folder() / "openclaw.json"
    text = json.dumps(choices.changed(OPENCLAW)) if choices.below(4) else choices.raw_or_text()
    file.write_text(text, encoding="utf-8", errors="replace")
    found = translate(file, agent=None, environ={"HOME": str(folder())})
    assert found.agents


@target("shells/mcp/tools.py", "shells/parse.py", share=100)
def mcp_arguments(choices: Choices) -> None:
    tool = choices.one_of(tools_for(read_only=False))
    given = choices.record(2)
    for _ in range(choices.below(4)):
        given[choices.one_of([each.name for each in tool.arguments] or ["x"])] = choices.value(4)
    parse_arguments(tool, given)


@target("shells/http/parameters.py", "shells/http/search.py", "shells/http/facts.py", share=250)
def http_request(choices: Choices) -> None:
    route = choices.one_of(ROUTES)
    names = [*route.names, "x"]
    sent = {
        choices.one_of(names): choices.value(4) if route.operation.takes_body else choices.text(4)
        for _ in range(choices.below(5))
    }
    for field in [*route.dependant.query_params, *filter(None, [route.body_field])]:
        try:
            cast("type[BaseModel]", field.field_info.annotation).model_validate(sent)
        except ValidationError as error:
            wrong = error.errors()[0]
            wrong["loc"] = ("query", *wrong["loc"])
            raise invalid([wrong], route.names) from None


@target("text/date_words.py", "text/phrases.py", "shells/parse.py", share=8)
def question(choices: Choices) -> None:
    text = choices.raw_or_text()
    found = window(text, today=_TODAY)
    assert found is None or found.first <= found.end
    query_terms(text)
    character_terms(text)
    for phrase in phrases_in(text):
        contains_all([text], [phrase])
    compare_claims(text, choices.text(4))
    parse_location(text)
    path_of(uri_of(text.encode("utf-8", "replace").decode()))
    with contextlib.suppress(ValueError):
        parse_day(text)


@target("text/date_words.py", "text/phrases.py", "text/terms.py", share=3)
def search(choices: Choices) -> None:
    source = choices.one_of((None, "memory", "facts", "sessions"))
    path = choices.text(4) if choices.below(3) == 0 else None
    text = choices.raw_or_text()
    memory = _memory()
    memory.answer(SearchRequest(text, source=source, path=path, sync=False, explain=True))
    memory.recall(text[:2000], budget_tokens=300)


@cache
def _memory() -> Memory:
    workspace = folder() / "notes"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "memory" / "2026-02-01.md").write_text(
        "# Boats\n\nThe green boat leaves at four. 数据库\n\n## Tea\n\nAda drinks tea.\n",
        encoding="utf-8",
    )
    environ = {"RECOLLECT_HOME": str(folder() / "home"), "RECOLLECT_PROVIDER": "none"}
    memory = Memory.open(workspace, environ=environ)
    memory.sync()
    return memory


@target("text/globs.py", share=26)
def globs(choices: Choices) -> None:
    pattern = "".join(choices.one_of(_GLOB_PARTS) for _ in range(choices.below(24)))
    path = "".join(choices.one_of(_GLOB_PARTS) for _ in range(choices.below(24)))
    if choices.below(3) == 0:
        pattern, path = choices.text(), choices.text()
    matches(path, pattern)
    if "*" not in path and "[" not in path and "?" not in path and path.strip("/."):
        plain = path.strip("/")
        assert "//" in plain or matches(plain, f"/{plain}") or plain.startswith("./")


_GLOB_PARTS = (
    "a", "b", "/", "**", "*", "?", "[", "]", "!", "^", "-", "[a-z]", ".", "./", "\\", "é", "\n",
    "{", "&&", "||", "--", "~~",
)  # fmt: skip


@target("text/globs.py", "ingest/walk.py", share=30)
def ignore_file(choices: Choices) -> None:
    lines = [
        "".join(choices.one_of(_GLOB_PARTS) for _ in range(choices.below(12))) for _ in range(4)
    ]
    (folder() / IGNORE_FILE).write_text("\n".join(lines), encoding="utf-8")
    is_ignored, _ = ignored_by(folder(), shown=".")
    if is_ignored is not None:
        is_ignored("a/b/a.md")


@target("text/safe.py", "text/terminal.py", share=12)
def output(choices: Choices) -> None:
    text = choices.raw_or_text()
    safe = neutralised(text)
    assert safe == neutralised(safe)
    assert "\n" not in on_one_line(text)
    block = fenced(text)
    assert 1 == block.count("</recollect-memory")
    assert 1 == block.count("<recollect-memory")
    assert not _CONTROL.search(block)
    shown = terminal_text(text)
    assert shown == terminal_text(shown)
    assert not _CONTROL.search(shown)
    assert "\n" not in terminal_line(text)
    read = json.loads(terminal_json(json.dumps(text, ensure_ascii=False)))
    # To JSON, two surrogates side by side are one character.
    assert text.encode("utf-16", "surrogatepass") == read.encode("utf-16", "surrogatepass")


@target("evaluate/cases.py", share=85)
def cases(choices: Choices) -> None:
    file = folder() / "cases.jsonl"
    if choices.below(4) == 0:
        file.write_bytes(choices.rest())
    else:
        file.write_text(json.dumps(choices.changed(CASE)), encoding="utf-8")
    read_cases(file)


@target("install/agents.py", "install/edit.py", share=200)
def agent_settings(choices: Choices) -> None:
    text = choices.raw_or_text()
    if choices.below(3):
        text = json.dumps(choices.changed(AGENT_SETTINGS), indent=choices.one_of((2, None)))
    with contextlib.suppress(ValueError):  # documented: it cannot be edited safely
        changed = with_entries(text, _agent_file(Syntax.JSON))
        assert json.loads(changed)["mcp_servers"]["recollect"]
        without_entries(changed, _agent_file(Syntax.JSON))


def _agent_file(syntax: Syntax) -> AgentFile:
    entry = AgentEntry(("mcp_servers", "recollect"), {"command": "recollect", "args": ["mcp"]})
    return AgentFile(Path("settings"), syntax, (entry,))
