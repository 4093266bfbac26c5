"""A workspace and a personal memory in one answer: each has its own index; paths say whose."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.commands import recollect_command

from recollect import ConfigError, Memory, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ALSO = {"also": ["~/notes"]}


@pytest.fixture
def notes(environ: dict[str, str], write: Callable[[str, str], Path]) -> Path:
    """A personal memory in the home; the workspace has notes as well."""
    write("MEMORY.md", "# Project\n\n- The staging server is called heron.\n")
    folder = Path(environ["HOME"]) / "notes"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text(
        "# Me\n\n- I drink my tea without sugar.\n- My dentist is Doctor Albers.\n",
        encoding="utf-8",
    )
    return folder


@pytest.fixture
def memory(workspace: Path, environ: dict[str, str], notes: Path) -> Iterator[Memory]:
    del notes
    with Memory.open(workspace, environ=environ, settings=ALSO) as opened:
        yield opened


def run(workspace: Path, environ: dict[str, str], *arguments: str, stdin: str = "") -> str:
    """Return what a command prints; what it says beside its answer follows "--"."""
    done = subprocess.run(
        [*recollect_command(), "-w", str(workspace), *arguments],
        env=environ,
        input=stdin,
        capture_output=True,
        text=True,
        check=True,
    )
    return f"{done.stdout}--{done.stderr}"


def test_one_search_answers_from_both_and_says_from_which(memory: Memory) -> None:
    personal = memory.search("who is my dentist")
    own = memory.search("what is the staging server called")

    assert ("~/notes/MEMORY.md", "~/notes") == (personal[0].path, personal[0].memory)
    assert "~/notes/MEMORY.md#L4" == personal[0].citation
    assert ("MEMORY.md", "") == (own[0].path, own[0].memory)
    assert (True, True) == (personal.confident, own.confident)


def test_what_was_shown_can_be_read(memory: Memory, notes: Path) -> None:
    hit = memory.search("who is my dentist")[0]

    read = memory.get(hit.path, start_line=4, lines=1)

    assert "- My dentist is Doctor Albers." == read.text
    assert "~/notes/MEMORY.md" == read.path
    assert read == memory.get(str(notes / "MEMORY.md"), start_line=4, lines=1)


def test_each_has_its_own_index_and_nothing_of_the_other(
    memory: Memory, notes: Path, environ: dict[str, str]
) -> None:
    memory.search("dentist")
    with Memory.open(notes, environ=environ) as personal:
        assert frozenset({"MEMORY.md"}) == memory.paths() == personal.paths()
        assert () == personal.search("staging server heron", legs=["keyword"]).hits


def test_of_equally_good_hits_the_own_come_first(
    memory: Memory, notes: Path, write: Callable[[str, str], Path]
) -> None:
    write("memory/own.md", "The gate code of the depot is 4711.\n")
    (notes / "memory").mkdir()
    (notes / "memory" / "personal.md").write_text("The gate code of the depot is 4712.\n")

    hits = memory.search("what is the gate code of the depot").hits

    assert ["memory/own.md", "~/notes/memory/personal.md"] == [hit.path for hit in hits[:2]]


def test_what_both_say_in_the_same_words_is_shown_once(
    memory: Memory, notes: Path, write: Callable[[str, str], Path]
) -> None:
    write("memory/gate.md", "The gate code of the depot is 4711.\n")
    (notes / "memory").mkdir()
    (notes / "memory" / "gate.md").write_text("The gate code of the depot is 4711.\n")

    hits = memory.search("what is the gate code of the depot").hits

    assert ["memory/gate.md"] == [hit.path for hit in hits if "4711" in hit.text]


def test_words_that_only_the_other_has_are_not_called_unknown(memory: Memory) -> None:
    found = memory.search('"without sugar"')

    assert ["~/notes/MEMORY.md"] == [hit.path for hit in found.hits]
    assert found.confident


def test_facts_are_saved_here_and_found_in_both_by_their_scopes(
    memory: Memory, notes: Path, environ: dict[str, str], workspace: Path
) -> None:
    with Memory.open(notes, environ=environ) as personal:
        personal.facts.remember("Ada prefers the window seat.", scope="user:ada")
    memory.facts.remember("The build runs on Thursdays.")

    everyone = memory.search("which seat does Ada prefer", source="facts")
    for_ada = memory.search("which seat does Ada prefer", source="facts", scopes=["user:ada"])

    assert "Ada prefers the window seat." not in [hit.text for hit in everyone.hits]
    assert "~/notes/memory/facts" == for_ada[0].path.rpartition("/")[0]
    assert (workspace / "memory" / "facts").is_dir()


def test_a_broken_memory_is_named_and_the_rest_is_searched(
    workspace: Path, environ: dict[str, str], notes: Path
) -> None:
    (notes / "recollect.toml").write_text("max_results = [", encoding="utf-8")
    settings = {"also": ["~/notes", "~/gone"]}
    with Memory.open(workspace, environ=environ, settings=settings) as memory:
        found = memory.search("what is the staging server called")
        status = memory.status()

    assert "MEMORY.md" == found[0].path
    assert 2 == sum("was not searched" in notice for notice in found.notices)
    assert 2 == sum("was not searched" in notice for notice in status.notices)


def test_a_memory_that_comes_back_is_searched_again(
    workspace: Path, environ: dict[str, str], notes: Path
) -> None:
    away = notes.rename(notes.with_name("away"))
    with Memory.open(workspace, environ=environ, settings=ALSO) as memory:
        assert not any(hit.memory for hit in memory.search("who is my dentist").hits)
        away.rename(notes)

        assert "~/notes" == memory.search("who is my dentist")[0].memory


def test_a_workspace_may_not_name_folders_outside_itself(
    workspace: Path, environ: dict[str, str], notes: Path, write: Callable[[str, str], Path]
) -> None:
    for outside in ("~/notes", "../user/notes", str(notes)):
        write("recollect.toml", f'also = ["{outside}"]\n')
        with pytest.raises(ConfigError, match="leaves the workspace"):
            Memory.open(workspace, environ=environ)

    (workspace / "inner").symlink_to(notes)
    write("recollect.toml", 'also = ["inner"]\n')
    with Memory.open(workspace, environ=environ) as memory:
        found = memory.search("who is my dentist")

    assert not any(hit.memory for hit in found.hits)
    assert any("outside of the workspace" in notice for notice in found.notices)


def test_a_workspace_that_names_itself_or_no_path_at_all_is_read_or_refused_in_a_sentence(
    workspace: Path, environ: dict[str, str], notes: Path, write: Callable[[str, str], Path]
) -> None:
    del notes
    write("recollect.toml", 'also = ["."]\n')
    with Memory.open(workspace, environ=environ) as memory:
        found = memory.search("what is the staging server called")

    assert ["MEMORY.md"] == [hit.path for hit in found.hits]
    assert () == found.notices

    write("recollect.toml", 'also = ["sub\\u0000x"]\n')
    with pytest.raises(ConfigError, match=r"`also`.* a list of paths or globs"):
        Memory.open(workspace, environ=environ)


def test_a_folder_named_like_the_home_is_not_taken_for_another_memory(
    tmp_path: Path, environ: dict[str, str], notes: Path
) -> None:
    del notes
    file = tmp_path / "vault" / "~" / "notes" / "MEMORY.md"
    file.parent.mkdir(parents=True)
    file.write_text("The parrot of the captain is called Bosun.\n", encoding="utf-8")
    with Memory.open(tmp_path / "vault", environ=environ, settings=ALSO) as memory:
        hit = memory.search("what is the parrot of the captain called")[0]
        read = memory.get(hit.path).text

    assert ("./~/notes/MEMORY.md", "") == (hit.path, hit.memory)
    assert "The parrot of the captain is called Bosun." == read.strip()


def test_who_may_see_some_scopes_sees_no_others_in_other_memories(
    workspace: Path, environ: dict[str, str], notes: Path
) -> None:
    with Memory.open(notes, environ=environ) as personal:
        personal.facts.remember("Ada prefers the window seat.", scope="user:ada")
        personal.sync()
        [page] = [path for path in personal.paths() if "facts" in path]
    asked = "which seat does Ada prefer"
    seen = {}
    for scope in ("user:ada", "user:ben"):
        with Memory.open(workspace, environ=environ, settings=ALSO, scopes=[scope]) as memory:
            seen[scope] = [hit.text for hit in memory.search(asked, scopes=[scope]).hits]
            if scope == "user:ben":
                with pytest.raises(NotFoundError):
                    memory.get(f"~/notes/{page}")

    assert "Ada prefers the window seat." in seen["user:ada"]
    assert "Ada prefers the window seat." not in seen["user:ben"]


@pytest.mark.parametrize("spelled", ['["~/notes"]', "notes", "~/notes"])
def test_it_is_set_once_for_every_project_however_it_is_spelled(
    workspace: Path, environ: dict[str, str], notes: Path, spelled: str
) -> None:
    del notes
    run(workspace, environ, "config", "set", "--user-file", "also", spelled)

    found = answer(workspace, environ, "search", "--json", "who is my dentist")

    assert "~/notes/MEMORY.md" == found["results"][0]["path"]


def answer(workspace: Path, environ: dict[str, str], *arguments: str, stdin: str = "") -> Any:
    """Return the JSON that a command prints."""
    return json.loads(run(workspace, environ, *arguments, stdin=stdin).partition("--")[0])


def test_commands_and_hooks_answer_from_both(
    workspace: Path, environ: dict[str, str], notes: Path
) -> None:
    settings = Path(environ["HOME"]) / ".config" / "recollect" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('also = ["~/notes"]\n', encoding="utf-8")
    prompt = json.dumps({"prompt": "Who is my dentist, please?", "cwd": str(workspace)})

    searched = answer(workspace, environ, "search", "--json", "who is my dentist")
    hook = answer(workspace, environ, "hook", "prompt", stdin=prompt)
    recalled = run(workspace, environ, "recall", "who is my dentist")
    status = run(workspace, environ, "status")
    itself = answer(notes, environ, "search", "--json", "who is my dentist")

    assert "~/notes" == searched["results"][0]["memory"]
    assert "[~/notes/MEMORY.md#L4]" in hook["hookSpecificOutput"]["additionalContext"]
    assert "[~/notes/MEMORY.md#L4]" in recalled
    assert "Also       ~/notes: 1 file, 2 chunks" in status
    assert "MEMORY.md" == itself["results"][0]["path"]


def test_a_project_without_notes_still_has_the_personal_memory(
    tmp_path: Path, environ: dict[str, str], notes: Path
) -> None:
    del notes
    (tmp_path / "empty").mkdir()
    environ["RECOLLECT_ALSO"] = "~/notes"

    found = answer(tmp_path / "empty", environ, "search", "--json", "who is my dentist")

    assert "~/notes/MEMORY.md" == found["results"][0]["path"]
