"""What a person reads after `search` and `recall`: the sentence that answers, or that none does."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.support.commands import recollect_command

from recollect import Memory
from recollect.errors import QueryError
from recollect.evaluate.cases import read_cases
from recollect.evaluate.run import evaluate
from recollect.types import SearchRequest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[[str, str], Path]
    Run = Callable[..., tuple[str, str]]

HOME = (
    "# Home\n\nThe house was built in 1962 and we bought it in 2014 from a teacher who moved "
    "to the coast. The heating is serviced every autumn by Mr Kolar, who also knows the boiler of "
    "the neighbours. The spare key is with the neighbours at number 14, in the blue flower pot "
    "behind their shed door. Water is turned off in the cellar.\n"
)
BY_WORDS = {"provider": "none", "rerank.enabled": False}
SENTENCE = (
    "The spare key is with the neighbours at number 14, in the blue flower pot behind their shed "
    "door."
)


@pytest.fixture
def run(workspace: Path, environ: dict[str, str]) -> Run:
    def run_command(*arguments: str, **more: str) -> tuple[str, str]:
        done = subprocess.run(
            [*recollect_command(), *arguments],
            cwd=workspace,
            env={
                **environ,
                "RECOLLECT_PROVIDER": "none",
                "RECOLLECT_RERANK_ENABLED": "false",
                **more,
            },
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        return done.stdout, done.stderr

    return run_command


def flat(text: str) -> str:
    return " ".join(text.split())


def test_an_excerpt_shows_the_sentence_that_answers_whole(run: Run, write: Write) -> None:
    write("memory/home.md", HOME)

    shown, _ = run("search", "spare", "key")

    assert SENTENCE in flat(shown)
    assert 4 == len(shown.splitlines())


def test_the_excerpt_for_a_misspelled_word_shows_the_line_with_the_word(
    run: Run, write: Write
) -> None:
    fill = "".join(f"Nothing of note happened on day {day} of the trip. " for day in range(9))
    write("memory/trip.md", f"# Trip\n\n{fill}The telescope stands in the attic. {fill}\n")

    shown, told = run("search", "telesckope")

    assert "The telescope stands in the attic." in flat(shown)
    assert "telescope" in told


def test_a_long_chunk_is_cut_around_the_sentence_that_answers(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    fill = "".join(f"Nothing of note happened on day {day} of the trip.\n" for day in range(25))
    write("memory/trip.md", f"# Trip\n\n{fill}The tent is\nin the attic. {fill}\n")
    with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as memory:
        (hit,) = memory.search("where is the tent", max_results=1)

    assert "The tent is\nin the attic." in hit.snippet
    assert len(hit.snippet) <= 700
    assert hit.sentence == "The tent is\nin the attic."


def test_a_date_and_a_heading_that_the_path_says_are_not_said_again(run: Run, write: Write) -> None:
    write("memory/2026-03-02.md", "# 2026-03-02\n\n## Boat\n\nWe painted the boat green.\n")

    shown, _ = run("search", "painted boat green")
    block, _ = run("recall", "painted boat green")

    for text in (shown, block):
        assert (1, 1) == (text.count("2026-03-02"), text.count("Boat"))
        assert "We painted the boat green." in text


def test_without_an_answer_the_terminal_says_so_first_and_shows_the_best_sentences_whole(
    run: Run, write: Write
) -> None:
    said = "is old, and its trailer has been standing in the barn of the neighbours since the flood"
    for name in ("bike", "boat", "sled", "tent"):
        write(f"memory/{name}.md", f"# {name.title()}\n\n{'We like it. ' * 30}The {name} {said}.\n")
    for day in range(9):
        write(f"memory/{day}.md", f"# Day {day}\n\nIt rained {day} hours.\n")

    shown, told = run("search", "who sold us the trailer in Lisbon")
    first, *weak = shown.splitlines()

    assert "This does not seem to be in memory. Weak matches:" == first
    assert [
        "  The boat is old, and its trailer has been standing in the barn of the",
        "  neighbours since the flood.",
    ] == weak[6:8]
    assert 3 == flat(shown).count(f"{said}.")
    assert ":1-3  The tent is old, and its trailer has been standing in…" in weak[-1]
    assert all(len(line) <= 80 for line in weak)
    assert "" == told


def test_recall_names_what_may_be_related_in_a_line_each_if_nothing_answers(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/home.md", HOME)
    write("memory/trip.md", "# Trip\n\nThe tent is in the attic.\n")
    with Memory.open(workspace, environ=environ, settings=BY_WORDS) as memory:
        weak = memory.recall("who repairs the boiler of our summer cottage in Sintra")
        nothing = memory.recall("zzyzx")

    assert not weak.results.confident
    assert "Weak matches: read one if it may help, and answer only if it says it." in weak.block
    assert "- [memory/home.md#L1-L3] The heating is serviced every autumn by Mr Kolar" in weak.block
    assert 1 == sum(line.startswith("- ") for line in weak.block.splitlines())
    assert ("", "Memory holds nothing about this.") == (nothing.block, nothing.reason)


def test_python_leaves_out_what_is_far_below_the_best_unless_asked(
    sample: Path, environ: dict[str, str]
) -> None:
    question = "how do we keep backups safe"
    with Memory.open(sample, environ=environ, settings=BY_WORDS) as memory:
        shown = memory.search(question, max_results=20)
        everything = memory.search(question, max_results=20, tail=True)

    assert len(shown) < len(everything)
    assert shown.hits == everything.hits[: len(shown)]


def test_an_error_says_what_to_do_next(workspace: Path, environ: dict[str, str]) -> None:
    with (
        Memory.open(workspace, environ=environ, settings={"provider": "none"}) as memory,
        pytest.raises(QueryError, match=r"The query is empty\. Say what to look for\."),
    ):
        memory.search("")


def test_eval_counts_only_what_search_shows(
    sample: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    question = "how do we keep backups safe"
    cases = tmp_path / "cases.jsonl"
    with Memory.open(sample, environ=environ, settings=BY_WORDS) as memory:
        shown = memory.search(question)
        hidden = memory.search(question, tail=True)[len(shown)]
        cases.write_text(
            f'{{"query": "{question}", "expected": ["{hidden.path}:{hidden.start_line}"]}}\n'
        )
        found = evaluate(memory, read_cases(cases), file=cases)
    (answer,) = found.outcomes[0].answers

    assert (None,) == answer.ranks
    assert 0.0 == getattr(answer.marks, "hit", None)


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("when is Anselm's birthday", "birthday: 1971-06-30"),
        ("1971-06-30", "birthday: 1971-06-30"),
        ("paused", "status: paused"),
        ("severity 2", "severity: 2"),
    ],
)
def test_what_front_matter_says_is_found_and_shown(
    run: Run, write: Write, question: str, line: str
) -> None:
    write(
        "memory/Anselm.md",
        "---\nbirthday: 1971-06-30\nstatus: paused\nseverity: 2\n---\n"
        "# Anselm\n\nHe lives in Graz and plays the cello.\n",
    )
    write("memory/2026-06-30.md", "# Rain\n\nIt rained on the 2 tents all day.\n")

    shown, _ = run("search", question)
    hits = json.loads(run("search", question, "--json")[0])["results"]

    assert line in shown
    assert "memory/Anselm.md" == hits[0]["path"]
    assert line in hits[0]["snippet"]


def test_the_reader_finds_the_sentence_that_shares_no_word_with_the_question(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write(
        "memory/Anselm.md",
        "---\nstatus: paused\nbirthday: 1971-06-30\n---\nMet at the choir. He lives in Graz.\n",
    )
    write(
        "memory/biscuit.md",
        "# Biscuit\n\n- Food: 160 g dry a day\n- Dog sitter: Lottie, £18 a night.\n- Fond of tea\n",
    )
    write(
        "memory/road.md",
        "# Road\n\n| Option | Trees kept |\n|---|---|\n| A: lanes | 4 |\n| B: bus gate | 29 |\n",
    )
    with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as memory:
        born = memory.search("when was Anselm born")[0]
        sitter = memory.search("who looks after Biscuit and what does she charge")[0]
        trees = memory.search("how many trees does the bus gate leave")[0]

    assert "- birthday: 1971-06-30" == born.sentence
    assert born.snippet.startswith("- birthday: 1971-06-30\n\nMet at the choir.")
    assert "- Dog sitter: Lottie, £18 a night." == sitter.sentence
    assert "| B: bus gate | 29 |" == trees.sentence


@pytest.fixture
def diary(write: Write) -> None:
    write(
        "memory/outage.md", "---\ntags: [incident]\ndate: 2026-03-02\n---\n# Outage\n\nMail down.\n"
    )
    write("memory/fire.md", "# Fire\n\nA small fire in the mail room. #incident\n")
    write("Daily/2026-03-04.md", "# Wednesday\n\nThe dentist sent mail.\n")
    write("recollect.toml", 'extra_paths = ["Daily"]\n')


@pytest.mark.usefixtures("diary")
@pytest.mark.parametrize(
    "arguments", [("--tag", "incident"), ("tag:incident",), ("tag:#incident",)]
)
def test_a_search_with_filters_alone_lists_the_notes(run: Run, arguments: tuple[str, ...]) -> None:
    shown, _ = run("search", *arguments)

    assert [
        "memory/outage.md  Outage  2026-03-02",
        "memory/fire.md    Fire",
    ] == shown.splitlines()


@pytest.mark.usefixtures("diary")
@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("tag:incident mail", {"memory/outage.md", "memory/fire.md"}),
        ("mail tag:incident tag:other", set()),
        ("path:Daily mail", {"Daily/2026-03-04.md"}),
        ('mail path:"memory/f*"', {"memory/fire.md"}),
    ],
)
def test_tags_and_paths_in_a_question_are_filters(
    workspace: Path, environ: dict[str, str], query: str, paths: set[str]
) -> None:
    with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as memory:
        assert paths == {hit.path for hit in memory.search(query, tail=True)}


def test_a_search_for_nothing_asks_for_a_query_or_a_filter(run: Run) -> None:
    assert "Give a QUERY, or a filter such as --tag." in run("search")[1]


def test_a_search_says_where_a_note_was_ranked_and_what_cut_it(run: Run, write: Write) -> None:
    write("memory/boat.md", "# Boat\n\nThe boat trailer is in the barn, and the boat is green.\n")
    for place in range(8):
        write(f"memory/{place}.md", f"# Day {place}\n\nIt rained {place} days. The boat was wet.\n")
    write("memory/tea.md", "# Tea\n\nTea is in the tin.\n")

    def why(path: str, *more: str) -> str:
        return run("search", "boat trailer", *more, "--why", path)[0]

    assert "memory/boat.md is hit 1." in why("memory/boat.md")
    assert "memory/boat.md#L1-L3 is candidate 1 of 9." in why("memory/boat.md")
    assert "keyword" in why("memory/boat.md")
    assert "memory/3.md is not shown: Its score" in why("memory/3.md")
    assert "memory/3.md is not shown: Others rank higher" in why("memory/3.md", "-n", "1", "--all")
    assert "memory/tea.md is not shown: No leg proposed it" in why("memory/tea.md")
    assert "absent.md is not shown: There is no absent.md in" in why("absent.md")


def test_the_templates_of_an_obsidian_vault_are_left_out(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    vault = tmp_path / "vault"
    for path, text in {
        ".obsidian/templates.json": '{"folder": "Templates"}',
        "Templates/trip.md": "# Trip\n\nThe boat of the trip.\n",
        "Trips/lisbon.md": "# Lisbon\n\nThe boat was blue.\n",
    }.items():
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_text(text, encoding="utf-8")
    with Memory.open(vault, environ=environ, settings=BY_WORDS) as memory:
        hits = memory.search("boat", tail=True)

        why = memory.why(SearchRequest("boat"), path="Templates/trip.md").reason

    assert ["Trips/lisbon.md"] == [hit.path for hit in hits]
    assert why.startswith("Templates/trip.md is a template of this Obsidian vault.")


def test_the_reason_why_a_note_is_not_read_is_named(run: Run, write: Write) -> None:
    write("memory/p.md", "---\nprivate: true\n---\nThe boat.\n")
    write("other/trip.md", "The boat.\n")

    def why(path: str) -> str:
        return flat(run("search", "boat", "--why", path)[0])

    assert "memory/p.md is private: its front matter says so." in why("memory/p.md")
    assert "other/trip.md is not a memory file of this workspace." in why("other/trip.md")
    assert "../a.md is outside of this workspace." in why("../a.md")


def test_a_path_with_a_space_is_a_filter_in_quotes_and_the_answer_says_so(
    run: Run, write: Write
) -> None:
    write("memory/Daily notes/dentist.md", "# Dentist\n\nThe boat.\n")

    for query in ("path:Daily notes boat", 'path:"memory/Daily notes/dentist" boat'):
        assert 'path:"Daily notes/dentist.md"' in run("search", query)[1]
    assert "dentist.md" in run("search", 'path:"memory/Daily notes" boat')[0]
    assert 'path:"Daily notes/dentist.md"' in run("search", "path:Daily")[0]


def test_get_suggests_the_path_that_is_meant_and_fails_beyond_the_end(
    workspace: Path, environ: dict[str, str], write: Write
) -> None:
    write("memory/Kayak.md", "# Kayak\n\nIt is red.\n")

    def get(location: str) -> tuple[int, str]:
        command = [*recollect_command(), "get", location]
        done = subprocess.run(
            command, cwd=workspace, env=environ, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stderr

    assert (1, True) == (get("memory/kayak.md")[0], "memory/Kayak.md?" in get("memory/kayak.md")[1])
    assert (1, "memory/Kayak.md has no line 500.\n") == get("memory/Kayak.md:500")
    assert 0 == get("memory/Kayak.md:3")[0]


def test_doctor_names_a_list_in_front_matter_that_is_not_closed(run: Run, write: Write) -> None:
    write("memory/a.md", "---\nfoo: [unclosed\nbar: [x]\n---\nIt rained.\n")
    write("memory/b.md", "---\nfoo: [closed,\n  below]\nurl: http://a.b/[c\n---\nIt rained.\n")
    run("index")
    told = flat(run("doctor")[0])

    assert "memory/a.md:1 has front matter with a list that is not closed" in told
    assert "memory/b.md" not in told


def test_doctor_names_front_matter_that_cannot_be_read(run: Run, write: Write) -> None:
    write(
        "memory/trip.md", "---\nbirthday: 1971-06-30\nthis is not yaml\n---\n# Trip\n\nIt rained.\n"
    )
    run("index")

    assert "memory/trip.md:1 has front matter with no end or with a line" in flat(run("doctor")[0])
