"""Data exports of ChatGPT and claude.ai as conversations: imported, searched, updated, refused."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.commands import recollect_command

from recollect import Memory
from recollect.errors import UsageError
from recollect.sessions import exported as export

if TYPE_CHECKING:
    from collections.abc import Iterator

    Exported = list[dict[str, Any]]

EXPORTS = Path(__file__).parent.parent / "fixtures" / "exports"
LAMP = "sessions/chatgpt/6957a1e0-aaaa-8001-a001-000000000001.jsonl"
FOGHORN = "sessions/chatgpt/6957a1e0-bbbb-8001-a001-000000000002.jsonl"
GREENHOUSE = "sessions/claude.ai/7c1d0f7e-0000-4000-8000-0000000000c1.jsonl"
CAN = "sessions/claude.ai/7c1d0f7e-0000-4000-8000-0000000000c2.jsonl"


@pytest.fixture
def memory(workspace: Path, environ: dict[str, str]) -> Iterator[Memory]:
    settings = {"sources": ["memory", "sessions"], "provider": "none"}
    with Memory.open(workspace, environ=environ, settings=settings) as memory:
        yield memory


def exported(service: str) -> Exported:
    found: Exported = json.loads((EXPORTS / service / "conversations.json").read_text("utf-8"))
    return found


def zipped(file: Path, content: object, *, name: str = "conversations.json") -> str:
    """Return the path of an export with these conversations, as it is downloaded."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("user.json", "{}")
        packed.writestr("chat.html", "<html>The lighthouse again</html>")
        packed.writestr(name, content if isinstance(content, str) else json.dumps(content))
    return str(file)


def said(memory: Memory, path: str) -> list[str]:
    return memory.get(path, lines=100).text.split("\n")


@pytest.mark.parametrize("is_zip", [True, False])
def test_a_chatgpt_export_becomes_conversations_with_date_title_and_speakers(
    memory: Memory,
    tmp_path: Path,
    is_zip: bool,  # noqa: FBT001
) -> None:
    place = zipped(tmp_path / "e.zip", exported("chatgpt")) if is_zip else str(EXPORTS / "chatgpt")

    assert [LAMP, FOGHORN] == memory.sessions.import_transcripts([place])
    hit = memory.search("colza oil").hits[0]
    assert (LAMP, "2026-01-01", ("Lamp oil",)) == (hit.path, str(hit.date), hit.heading)
    assert ("user,assistant", "2026-01-01T10:00:00Z") == (hit.speaker, hit.moment)
    assert [
        "User: Which lamp oil does the lighthouse need?",
        "Assistant: The lighthouse needs colza oil.",
    ] == said(memory, LAMP)[:2]
    assert "Assistant: The tank holds forty litres." == said(memory, LAMP)[3]


def test_a_claude_ai_export_becomes_conversations_with_date_title_and_speakers(
    memory: Memory, tmp_path: Path
) -> None:
    place = zipped(tmp_path / "data-2026.zip", exported("claude"))

    assert [GREENHOUSE, CAN] == memory.sessions.import_transcripts([place])
    hit = memory.search("tomatoes").hits[0]
    assert (GREENHOUSE, "2026-03-01", ("Greenhouse",)) == (hit.path, str(hit.date), hit.heading)
    assert [
        "User: When do we sow the tomatoes?",
        "Assistant: Sow the tomatoes in the last week of March.",
        "User: And the peppers?",
        "Assistant: The peppers a fortnight earlier.",
    ] == said(memory, GREENHOUSE)
    assert "Assistant: The spare watering can is under the bench." == said(memory, CAN)[1]


@pytest.mark.parametrize("service", ["chatgpt", "claude"])
def test_only_what_was_said_on_the_kept_branch_is_found_and_secrets_are_masked(
    memory: Memory, service: str
) -> None:
    memory.sessions.import_transcripts([str(EXPORTS / service)])

    for word in ("abandoned", "pondering", "seagulls", "owls", "keeper", "turnips", "parsnips"):
        assert () == memory.search(word).hits, word
    paths = (LAMP, FOGHORN) if service == "chatgpt" else (GREENHOUSE, CAN)
    every = "\n".join(line for path in paths for line in said(memory, path))
    assert "a1B2c3D4a1B2c3D4" not in every
    assert "turn0search0" not in every


def test_a_newer_export_updates_and_never_duplicates(memory: Memory, tmp_path: Path) -> None:
    older = exported("chatgpt")
    newer = exported("chatgpt")
    first = newer[0]
    nodes, last = first["mapping"], first["current_node"]
    nodes["new"] = {
        "id": "new",
        "parent": last,
        "children": [],
        "message": {
            **nodes[last]["message"],
            "create_time": first["update_time"] + 500,
            "content": {"content_type": "text", "parts": ["The wick is trimmed at dusk."]},
        },
    }
    first |= {"current_node": "new", "update_time": first["update_time"] + 500}
    memory.sessions.import_transcripts([zipped(tmp_path / "older.zip", older)])
    memory.sync()

    assert [LAMP] == memory.sessions.import_transcripts([zipped(tmp_path / "newer.zip", newer)])
    assert [LAMP] == [hit.path for hit in memory.search("wick trimmed").hits]
    assert [] == memory.sessions.import_transcripts([zipped(tmp_path / "newer.zip", newer)])
    assert [] == memory.sessions.import_transcripts(
        [zipped(tmp_path / "older.zip", older)]
    )  # nor goes back
    assert [LAMP] == [hit.path for hit in memory.search("wick trimmed").hits]
    assert 2 == len(memory.sessions.all()[0])


def test_a_conversation_that_was_cut_short_by_another_branch_is_replaced(
    memory: Memory, tmp_path: Path
) -> None:
    memory.sessions.import_transcripts([str(EXPORTS / "chatgpt")])
    newer = exported("chatgpt")
    newer[0]["current_node"] = next(key for key in newer[0]["mapping"] if key.endswith("04"))
    newer[0]["mapping"][newer[0]["current_node"]]["message"]["create_time"] += 9000

    assert [LAMP] == memory.sessions.import_transcripts([zipped(tmp_path / "e.zip", newer)])
    assert [LAMP] == [hit.path for hit in memory.search("abandoned candles").hits]
    assert () == memory.search("colza").hits


def test_large_exports_come_in_numbered_files(memory: Memory, tmp_path: Path) -> None:
    first, second = exported("chatgpt")
    file = tmp_path / "e.zip"
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("export/conversations-000.json", json.dumps([first]))
        packed.writestr("export/conversations-001.json", json.dumps([second]))
        packed.writestr("__MACOSX/export/conversations-000.json", "junk")
        packed.writestr("export/shared_conversations.json", "[]")

    assert [LAMP, FOGHORN] == memory.sessions.import_transcripts([str(file)])


def test_a_forgotten_conversation_is_not_imported_again(memory: Memory) -> None:
    memory.sessions.import_transcripts([str(EXPORTS / "claude")])
    memory.sessions.forget([CAN], last_copies=True)

    assert [] == memory.sessions.import_transcripts([str(EXPORTS / "claude")])
    assert () == memory.search("watering can").hits


def test_the_command_imports_and_tells_what_it_left_out(
    workspace: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    odd = [{"uuid": "../../evil", "chat_messages": []}, {"kind": "project"}, 7]
    place = zipped(tmp_path / "e.zip", [*exported("claude"), *odd])

    done = subprocess.run(
        [*recollect_command(), "-w", str(workspace), "sessions", "import", place, "--json"],
        env=environ,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )

    assert (0, [GREENHOUSE, CAN]) == (done.returncode, json.loads(done.stdout)["imported"])
    assert "a conversation has the id '../../evil', which is not one." in done.stderr
    assert "an entry is not a conversation of ChatGPT or claude.ai (2 times)." in done.stderr
    assert [] == list(tmp_path.rglob("evil*"))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("[]", "has no conversations of ChatGPT or claude.ai"),
        ("{}", "is not a list of conversations"),
        ('[{"mapping": {}', "is damaged after 1 characters"),
        ('[{"a": 1} ', "is damaged after"),
        ("[" * 100_000, "is damaged after 1 characters"),
    ],
)
def test_what_is_no_export_is_refused_with_a_sentence(
    memory: Memory, tmp_path: Path, content: str, sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        memory.sessions.import_transcripts([zipped(tmp_path / "e.zip", content)])


def test_no_more_than_the_limit_is_unpacked(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "MAX_BYTES", 1000)

    with pytest.raises(UsageError, match="unpacks to more than an export"):
        memory.sessions.import_transcripts([zipped(tmp_path / "e.zip", exported("claude"))])


def test_a_damaged_zip_file_and_a_link_are_refused(memory: Memory, tmp_path: Path) -> None:
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(UsageError, match="is not a readable zip file"):
        memory.sessions.import_transcripts([str(broken)])

    whole = Path(zipped(tmp_path / "whole.zip", exported("claude")))
    cut = tmp_path / "cut.zip"
    cut.write_bytes(whole.read_bytes()[:-40])
    with pytest.raises(UsageError, match="is not a readable zip file"):
        memory.sessions.import_transcripts([str(cut)])

    flipped = tmp_path / "flipped.zip"
    content = bytearray(whole.read_bytes())
    at = content.index(b"conversations.json") + 60
    content[at : at + 20] = bytes(20)
    flipped.write_bytes(content)
    with pytest.raises(UsageError, match="is not a readable zip file"):
        memory.sessions.import_transcripts([str(flipped)])

    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "conversations.json").symlink_to(EXPORTS / "claude" / "conversations.json")
    with pytest.raises(UsageError, match="cannot be read"):
        memory.sessions.import_transcripts([str(folder)])


def test_a_tree_that_turns_in_circles_ends(memory: Memory, tmp_path: Path) -> None:
    looped = exported("chatgpt")[1]
    looped["mapping"]["client-created-root"]["parent"] = "m1"

    assert [FOGHORN] == memory.sessions.import_transcripts([zipped(tmp_path / "e.zip", [looped])])
    assert 1 == len(said(memory, FOGHORN))


def test_an_export_beside_transcripts_is_imported_with_them(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "both"
    shutil.copytree(EXPORTS / "claude", folder)
    row = {"type": "session_meta", "payload": {"id": "t", "cwd": "/x"}}
    (folder / "rollout-2026-02-01T10-00-00-t.jsonl").write_text(json.dumps(row) + "\n", "utf-8")

    brought = memory.sessions.import_transcripts([str(folder)])

    assert ["sessions/codex/rollout-2026-02-01T10-00-00-t.jsonl", GREENHOUSE, CAN] == brought


def test_the_list_has_titles_and_days_and_a_title_that_is_unique_names_a_conversation(
    workspace: Path, environ: dict[str, str]
) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*recollect_command(), "-w", str(workspace), "sessions", *arguments],
            env=environ,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )

    run("import", str(EXPORTS / "chatgpt"))
    again = run("import", str(EXPORTS / "chatgpt"))
    listed = run("list").stdout
    forgotten = run("forget", "--yes", "lamp oil")
    after = run("list").stdout
    left_out = run("import", str(EXPORTS / "chatgpt"))

    assert (0, "0 imported: already imported, unchanged\n", "") == (
        again.returncode, again.stdout, again.stderr,
    )  # fmt: skip
    assert re.search(rf'{re.escape(LAMP)}  "Lamp oil", 2026-01-0[0-9], [0-9]+ kB', listed)
    assert f"Forgotten: {LAMP}\n" in forgotten.stdout
    assert f"{LAMP}  forgotten, and no longer there\n" in after
    assert f"sessions forget --undo {LAMP}`" in after
    assert "0 imported\n" == left_out.stdout
    assert f"sessions forget --undo {LAMP}`" in left_out.stderr


def test_a_title_of_two_conversations_names_none_of_them(memory: Memory, tmp_path: Path) -> None:
    content = exported("chatgpt")
    for each in content:
        each["title"] = "Lamp oil"
    memory.sessions.import_transcripts([zipped(tmp_path / "e.zip", content)])

    with pytest.raises(UsageError, match="2 transcripts have the title 'Lamp oil'") as refused:
        memory.sessions.forget(["Lamp oil"], last_copies=True)

    assert LAMP in refused.value.action
    assert FOGHORN in refused.value.action


def test_a_folder_without_conversations_is_named_and_nothing_is_imported(
    memory: Memory, tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()

    with pytest.raises(UsageError, match=r"Nothing was found in .*empty"):
        memory.sessions.import_transcripts([str(EXPORTS / "chatgpt"), str(empty)])

    assert [] == memory.sessions.all()[0]
