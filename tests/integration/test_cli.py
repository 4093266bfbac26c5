"""The command line as a user calls it: real processes, real files, real model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.commands import Cli

import recollect

if TYPE_CHECKING:
    from collections.abc import Callable

RECOLLECT = Path(sys.executable).parent / "recollect"


@pytest.fixture
def cli(workspace: Path, environ: dict[str, str]) -> Cli:
    return Cli(workspace, environ)


def test_index_then_search_prints_score_path_lines_heading_and_snippet(
    cli: Cli, write: Callable[[str, str], Path]
) -> None:
    write("memory/2026-02-01.md", "# Deploy\n\n## Rollback\n\nUse the blue button to roll back.\n")

    indexed = cli("index")
    found = cli("search", "blue button")

    assert (0, 0) == (indexed.returncode, found.returncode)
    assert "1 added, 0 changed, 0 moved, 0 removed, 0 unchanged, 0 failed" in indexed.stdout
    score, location = found.stdout.splitlines()[0].split(" ")
    assert 0 < float(score) <= 1
    assert "memory/2026-02-01.md:1-5" == location
    assert "Deploy > Rollback" == found.stdout.splitlines()[1]
    assert "Use the blue button to roll back." in found.stdout


def test_search_json_keeps_its_contract(cli: Cli, write: Callable[[str, str], Path]) -> None:
    write("memory/2026-02-01.md", "# Deploy\n\nUse the blue button to roll back.\n")

    answer = cli.json("search", "blue button", "--explain")

    assert {
        "results",
        "query",
        "mode",
        "provider",
        "model",
        "fusion",
        "degraded",
        "confident",
        "confidence",
        "notices",
        "tookMs",
    } == set(answer)
    hit = answer["results"][0]
    assert [
        "path",
        "startLine",
        "endLine",
        "score",
        "vectorScore",
        "textScore",
        "snippet",
        "source",
        "citation",
        "heading",
        "date",
        "explain",
    ] == list(hit)
    assert ("memory/2026-02-01.md", 1, 3) == (hit["path"], hit["startLine"], hit["endLine"])
    assert "memory/2026-02-01.md#L1-L3" == hit["citation"]
    assert (["Deploy"], "2026-02-01", "memory") == (hit["heading"], hit["date"], hit["source"])
    assert ("hybrid", "local", "recollect-embedder", "calibrated", None) == (
        answer["mode"],
        answer["provider"],
        answer["model"],
        answer["fusion"],
        answer["degraded"],
    )


@pytest.mark.parametrize("fusion", ["calibrated", "weighted", "rrf"])
def test_explained_contributions_add_up_to_the_score(
    cli: Cli, write: Callable[[str, str], Path], fusion: str
) -> None:
    write("memory/2026-02-01.md", "Use the blue button E_ROLL_9 to roll back.\n")
    write("memory/2020-02-01.md", "The old button was red.\n")

    hits = cli.json(
        "search",
        "button E_ROLL_9",
        "--explain",
        "--fusion",
        fusion,
        RECOLLECT_TEMPORAL_DECAY_ENABLED="true",
    )["results"]

    assert hits
    for hit in hits:
        explain = hit["explain"]
        parts = [leg["contribution"] for leg in explain["legs"].values()]
        assert hit["score"] == pytest.approx(
            sum(parts) + explain["exact"] + explain["decay"], abs=1e-4
        )


def test_index_twice_does_nothing_the_second_time(
    cli: Cli, write: Callable[[str, str], Path]
) -> None:
    write("MEMORY.md", "- one\n- two\n")
    write("memory/a.md", "three\n")
    for file in cli.workspace.rglob("*.md"):
        os.utime(file, (1_700_000_000, 1_700_000_000))

    first = cli.json("index")
    second = cli.json("index")

    assert (2, 3, 3) == (first["added"], first["chunks"], first["embedded"])
    assert (0, 0, 2, 3, 0) == (
        second["added"],
        second["changed"],
        second["unchanged"],
        second["chunks"],
        second["embedded"],
    )


def test_search_sees_what_was_saved_a_moment_ago(
    cli: Cli, write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "The gate code is 4711.\n")
    assert cli.json("search", "gate code")["results"]
    write("memory/a.md", "The gate code is 0815.\n")

    snippet = cli.json("search", "gate code")["results"][0]["snippet"]

    assert "The gate code is 0815." == snippet


def test_no_sync_searches_the_index_as_it_is(cli: Cli, write: Callable[[str, str], Path]) -> None:
    write("memory/a.md", "apple\n")
    cli("index")
    write("memory/b.md", "banana\n")

    assert [] == [
        hit["path"]
        for hit in cli.json("search", "banana", "--no-sync", RECOLLECT_PROVIDER="none")["results"]
    ]


def test_get_reads_lines_and_says_where_to_go_on(
    cli: Cli, write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "one\ntwo\nthree\nfour\n")

    by_location = cli("get", "memory/a.md:2:2")
    by_options = cli.json("get", "memory/a.md", "--from", "2", "--lines", "1")

    assert "two\nthree\n" == by_location.stdout
    assert {
        "path": "memory/a.md",
        "from": 2,
        "lines": 1,
        "text": "two",
        "truncated": True,
        "nextFrom": 3,
    } == by_options


@pytest.mark.parametrize("location", ["memory/a.md:2-3", "memory/a.md#L2-L3", "memory/a.md:2:2"])
def test_get_understands_what_search_shows(
    cli: Cli, write: Callable[[str, str], Path], location: str
) -> None:
    write("memory/a.md", "one\ntwo\nthree\nfour\n")

    assert "two\nthree\n" == cli("get", location).stdout


def test_get_beyond_the_end_says_so(cli: Cli, write: Callable[[str, str], Path]) -> None:
    write("memory/a.md", "one\n")

    done = cli("get", "memory/a.md:99")

    assert ("", "memory/a.md has no line 99.\n") == (done.stdout, done.stderr)


def test_a_query_needs_no_quotes(cli: Cli, write: Callable[[str, str], Path]) -> None:
    write("memory/a.md", "The ferry timetable.\n")

    done = cli("search", "ferry", "timetable", RECOLLECT_PROVIDER="none")

    assert "memory/a.md:1-1" in done.stdout


def test_a_folder_without_memory_is_an_error_and_a_memory_without_the_answer_is_not(
    cli: Cli, write: Callable[[str, str], Path], workspace: Path
) -> None:
    (workspace / "memory").rmdir()
    empty = cli("search", "ferry", RECOLLECT_PROVIDER="none")
    write("memory/a.md", "apple\n")
    filled = cli("search", "ferry", RECOLLECT_PROVIDER="none")

    assert "has no Markdown files, so nothing is indexed." in empty.stderr
    assert ("No matches.\n", "") == (filled.stdout, filled.stderr)


def test_a_filter_that_matches_nothing_is_named(
    cli: Cli, write: Callable[[str, str], Path]
) -> None:
    write("memory/2026-01-05.md", "apple\n")

    path = cli("search", "apple", "--path", "nowhere/*", RECOLLECT_PROVIDER="none")
    day = cli("search", "apple", "--since", "2026-03-01", RECOLLECT_PROVIDER="none")

    assert "No indexed file matches the path 'nowhere/*'." in path.stderr
    assert "Nothing is dated on or after 2026-03-01." in day.stderr


def test_six_hits_fit_on_a_screen(cli: Cli, write: Callable[[str, str], Path]) -> None:
    for number in range(8):
        write(f"memory/n{number}.md", f"# Note {number}\n\n" + "The apple fell far. " * 60)

    short = cli("search", "apple", RECOLLECT_PROVIDER="none").stdout.splitlines()
    whole = cli("search", "apple", "-v", RECOLLECT_PROVIDER="none").stdout.splitlines()

    assert len(short) < 22
    assert "…" in short[-1]
    assert any(len(line) > 600 for line in whole)


def test_a_command_nearly_right_is_named(cli: Cli) -> None:
    done = cli("serach", "x")

    assert 2 == done.returncode
    assert "Did you mean 'search'?" in done.stderr
    assert "Did you mean 'facts forget'?" in cli("forget", "fact-1").stderr
    assert "Did you mean 'index --watch'?" in cli("watch").stderr


def test_status_is_not_stale_right_after_an_index_run(
    cli: Cli, write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "apple\n")
    (cli.workspace / "memory" / "broken.md").write_bytes(b"\xff\xfe\x00")
    cli("index")

    stale = cli.json("status")["stale"]

    assert ([], []) == (stale["changed"], stale["gone"])
    assert ["memory/broken.md"] == [failure["path"] for failure in stale["failed"]]


@pytest.mark.parametrize(
    "path", ["../outside.md", "/etc/passwd", "memory/../../outside.md", "secret.md", "memory/no.md"]
)
def test_get_reads_nothing_but_memory_files(
    cli: Cli, write: Callable[[str, str], Path], path: str
) -> None:
    write("memory/a.md", "one\n")
    write("secret.md", "secret\n")
    (cli.workspace.parent / "outside.md").write_text("secret\n", encoding="utf-8")

    done = cli("get", path, "--json")

    assert 1 == done.returncode
    assert "not_found" == json.loads(done.stdout)["error"]["type"]
    assert "secret" not in done.stdout.replace("secret.md", "")


def test_status_tells_what_is_stale(cli: Cli, write: Callable[[str, str], Path]) -> None:
    write("memory/a.md", "apple\n")
    cli("index")
    write("memory/b.md", "banana\n")
    (cli.workspace / "memory" / "a.md").unlink()

    status = cli.json("status")

    assert (["memory/b.md"], ["memory/a.md"]) == (
        status["stale"]["changed"],
        status["stale"]["gone"],
    )
    assert 1 == status["index"]["chunks"]
    assert status["probe"] is None


def test_status_deep_embeds_once(cli: Cli) -> None:
    assert cli.json("status", "--deep")["probe"]["works"]


def test_doctor_is_content_with_a_working_installation(
    cli: Cli, write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "apple\n")
    cli("index")

    answer = cli.json("doctor")

    assert answer["ok"]
    assert [
        "python", "sqlite", "workspace", "index", "notes", "facts", "models", "provider", "privacy",
    ] == [check["name"] for check in answer["checks"]]  # fmt: skip


def test_doctor_exits_with_one_when_there_is_nothing_to_remember(cli: Cli) -> None:
    done = cli("doctor")

    assert 1 == done.returncode
    assert "FAIL workspace: no memory files" in done.stdout


def test_reset_drops_the_index_and_keeps_the_files(
    cli: Cli, write: Callable[[str, str], Path]
) -> None:
    file = write("memory/a.md", "apple\n")
    cli("index")

    assert 2 == cli("reset").returncode
    assert 0 == cli("reset", "--yes").returncode
    assert 0 == cli.json("status")["index"]["chunks"]
    assert "apple\n" == file.read_text(encoding="utf-8")


def test_common_options_may_stand_before_or_after_the_command(
    cli: Cli, write: Callable[[str, str], Path], tmp_path: Path
) -> None:
    write("memory/a.md", "apple\n")
    elsewhere = Cli(tmp_path, cli.environ)

    before = elsewhere.json("-w", str(cli.workspace), "--agent", "wren", "index")
    after = elsewhere.json("status", "-w", str(cli.workspace), "--agent", "wren")

    assert 1 == before["chunks"]
    assert ("wren", 1) == (after["agent"], after["index"]["chunks"])
    assert (tmp_path / "home" / "memory" / "wren.sqlite").is_file()


def test_the_workspace_is_the_nearest_marked_folder_upwards(
    cli: Cli, write: Callable[[str, str], Path]
) -> None:
    write("MEMORY.md", "- apple\n")
    inner = Cli(cli.workspace / "memory", cli.environ)

    assert str(cli.workspace) == inner.json("status")["workspace"]


@pytest.mark.parametrize(
    "query", ['"', "***", "a:b AND (c", "NOT", "🦔", "'; DROP TABLE chunks;--"]
)
def test_no_query_is_a_syntax_error(
    cli: Cli, write: Callable[[str, str], Path], query: str
) -> None:
    write("memory/a.md", "A 🦔 lives here.\n")

    done = cli("search", "--json", "--", query, RECOLLECT_PROVIDER="none")

    assert 0 == done.returncode, done.stderr
    assert "keyword" == json.loads(done.stdout)["mode"]


def test_a_query_without_a_word_finds_nothing(cli: Cli, write: Callable[[str, str], Path]) -> None:
    write("memory/a.md", "apple\n")

    done = cli("search", "?!* ()")

    assert (0, "No matches.\n") == (done.returncode, done.stdout)


def test_a_query_of_a_hundred_kilobytes_is_refused(
    cli: Cli, write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "The needle is here.\n")

    done = cli("search", "needle " * 15_000)

    assert (2, True) == (done.returncode, "at most 4,000 are searched" in done.stderr)


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", ""),
        ("search", "x", "-n", "0"),
        ("search", "x", "-n", "-1"),
        ("search", "x", "--min-score", "nan"),
        ("search", "x", "--since", "2026-13-40"),
        ("search", "x", "--since", "2026-02-01", "--before", "2026-01-01"),
        ("search", "x", "--fusion", "magic"),
        ("search",),
        ("get", "memory/a.md", "--from", "0"),
        ("nonsense",),
        ("status", "--agent", "../../etc"),
    ],
)
def test_wrong_usage_exits_with_two_and_a_json_error(
    cli: Cli, write: Callable[[str, str], Path], arguments: tuple[str, ...]
) -> None:
    write("memory/a.md", "apple\n")

    done = cli(*arguments, "--json")

    assert 2 == done.returncode, done.stderr
    answer = json.loads(done.stdout)
    assert answer["ok"] is False
    assert {"type", "message", "action"} == set(answer["error"])


def test_an_unknown_setting_names_the_nearest_one(cli: Cli) -> None:
    done = cli("status", RECOLLECT_PROVIDR="none")

    assert 2 == done.returncode
    assert "Did you mean `provider`?" in done.stderr


def test_a_missing_workspace_is_named(cli: Cli, tmp_path: Path) -> None:
    done = cli("-w", str(tmp_path / "nowhere"), "search", "x", "--json")

    assert 1 == done.returncode
    error = json.loads(done.stdout)["error"]
    assert "workspace" == error["type"]
    assert "nowhere" in error["message"]


def test_a_command_in_a_subfolder_uses_the_memory_of_the_indexed_folder_above(
    environ: dict[str, str], write: Callable[[str, str], Path], workspace: Path
) -> None:
    (workspace / "memory").rmdir()
    write("ferry.md", "The ferry leaves at nine.\n")
    write("trips/lisbon/hotel.md", "The hotel has a cat.\n")
    write("trips/own/memory/cat.md", "The cat is grey.\n")

    def search_in(folder: str) -> subprocess.CompletedProcess[str]:
        return Cli(workspace / folder, environ)("search", "ferry cat", RECOLLECT_PROVIDER="none")

    search_in("trips/lisbon")  # before there was anything above
    above = search_in(".")
    below = search_in("trips/lisbon")
    apart = search_in("trips/own")

    assert above.stdout == below.stdout
    assert f"Using the memory of {workspace}, which this folder is in." in below.stderr
    assert "Using the memory" not in above.stderr + apart.stderr
    assert "memory/cat.md:1-1" in apart.stdout
    assert 3 == len(list(Path(environ["RECOLLECT_HOME"], "memory").glob("*.sqlite")))


def test_a_folder_of_notes_needs_no_set_up(
    cli: Cli, write: Callable[[str, str], Path], workspace: Path
) -> None:
    (workspace / "memory").rmdir()
    write("trips/lisbon.md", "The ferry leaves at nine.\n")
    write(".obsidian/plugin.md", "ferry\n")
    first = cli("search", "ferry", RECOLLECT_PROVIDER="none")
    remembered = cli("remember", "The ferry is blue", RECOLLECT_PROVIDER="none")
    second = cli("search", "ferry", RECOLLECT_PROVIDER="none")

    assert "trips/lisbon.md:1-1" in first.stdout
    assert "obsidian" not in first.stdout
    assert "every Markdown file below" in first.stderr
    assert "config set extra_paths" in first.stderr
    assert (0, "") == (remembered.returncode, remembered.stderr)
    assert "trips/lisbon.md:1-1" in second.stdout
    assert "every Markdown file" not in second.stderr


@pytest.mark.parametrize("folder", ["empty", "home", "/etc"])
def test_a_folder_named_by_mistake_gets_no_index(cli: Cli, tmp_path: Path, folder: str) -> None:
    named = tmp_path / folder
    named.mkdir(exist_ok=True)
    if folder == "home":
        (named / "letter.md").write_text("Dear ferry\n", encoding="utf-8")

    done = cli("-w", str(named), "index", "--json", HOME=str(tmp_path / "home"))

    assert 1 == done.returncode
    error = json.loads(done.stdout)["error"]
    assert "workspace" == error["type"]
    assert "so nothing is indexed" in error["message"]
    assert "-w" in error["action"]
    assert [] == list(tmp_path.rglob("*.sqlite"))


def test_no_progress_bar_is_drawn_where_there_is_no_terminal(
    cli: Cli, write: Callable[[str, str], Path]
) -> None:
    write("memory/a.md", "apple\n")

    assert "" == cli("index").stderr


def test_a_closed_pipe_is_no_traceback(cli: Cli, write: Callable[[str, str], Path]) -> None:
    write("memory/a.md", "apple\n" * 3)
    command = f"{RECOLLECT} search apple | true"

    done = subprocess.run(
        ["bash", "-c", command],
        cwd=cli.workspace,
        env={**cli.environ, "RECOLLECT_PROVIDER": "none"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "Traceback" not in done.stderr


def test_notes_beside_a_new_memory_folder_are_named_until_they_are_indexed(
    cli: Cli, workspace: Path, write: Callable[[str, str], Path]
) -> None:
    write("ideas.md", "A kite from old sails.\n")
    write("README.md", "About this folder.\n")
    write("memory/todo.md", "Buy string.\n")

    before = cli("search", "kite", RECOLLECT_PROVIDER="none").stderr
    cli("config", "set", "extra_paths", ".")
    after = cli("search", "kite", RECOLLECT_PROVIDER="none")

    assert (
        f"Only memory/ of {workspace} is indexed, not the notes beside it such as ideas.md."
        in before
    )
    assert "Only memory/" not in after.stderr
    assert "ideas.md" in after.stdout


def test_notes_that_new_extra_paths_leave_out_are_reported(
    cli: Cli, workspace: Path, write: Callable[[str, str], Path]
) -> None:
    (workspace / "memory").rmdir()
    write("ideas/kite.md", "A kite from old sails.\n")
    write("todo.md", "Buy string.\n")
    cli("index", RECOLLECT_PROVIDER="none")
    cli("config", "set", "extra_paths", "ideas")

    told = json.loads(cli("search", "kite", "--json", RECOLLECT_PROVIDER="none").stdout)["notices"]

    assert 1 == len(told)
    assert told[0].startswith("1 note is no longer searched, because of `extra_paths` or `exclude`")


def test_the_version_says_which_folder_runs(cli: Cli) -> None:
    here = Path(recollect.__file__).parent

    for arguments in (("--version",), ("--json", "--version")):
        told = cli(*arguments).stdout
        assert f"recollect, version {recollect.__version__}, from {here}\n" == told


def test_notes_that_a_new_memory_file_excludes_are_reported(
    cli: Cli, workspace: Path, write: Callable[[str, str], Path]
) -> None:
    (workspace / "memory").rmdir()
    write("ideas/kite.md", "A kite from old sails.\n")
    write("todo.md", "Buy string.\n")
    draft = write("draft.md", "A kite again.\n")
    cli("index", RECOLLECT_PROVIDER="none")
    draft.unlink()
    write("MEMORY.md", "The user likes the sea.\n")

    told = json.loads(cli("search", "kite", "--json", RECOLLECT_PROVIDER="none").stdout)["notices"]
    again = json.loads(cli("search", "kite", "--json", RECOLLECT_PROVIDER="none").stdout)["notices"]

    assert told[0].startswith("2 notes are no longer searched: beside MEMORY.md,")
    assert "`recollect config set extra_paths .`" in told[0]
    assert [] == again
