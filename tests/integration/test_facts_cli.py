"""Facts on the command line as a newcomer meets them: every message leads to the next step."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from tests.support.commands import recollect_command

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "ghp_" + "a1B2" * 9
UNKNOWN = "f-0000000000000"


class Run(Protocol):
    def __call__(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]: ...


@pytest.fixture
def run(workspace: Path, environ: dict[str, str]) -> Run:
    """Run the command line; the workspace is named, so commands it proposes have to name it too."""

    def command(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*recollect_command(), "-w", str(workspace), *arguments],
            env={**environ, "RECOLLECT_PROVIDER": "none"},
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )

    return command


def remember(run: Run, *arguments: str) -> dict[str, Any]:
    done = run("remember", *arguments, "--json")
    assert 0 == done.returncode, done.stderr
    return dict(json.loads(done.stdout))


def listed(run: Run, *arguments: str) -> dict[str, dict[str, Any]]:
    done = run("facts", "list", *arguments, "--json")
    assert 0 == done.returncode, done.stderr
    return {fact["text"]: fact for fact in json.loads(done.stdout)["facts"]}


def found(run: Run, question: str) -> set[str]:
    results = json.loads(run("search", question, "--json").stdout)["results"]
    return {hit["snippet"] for hit in results}


def obey(run: Run, said: str, *, number: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command as a message proposes it, without adding anything to it."""
    command = shlex.split(re.findall(r"→ `([^`]+)`", said)[number])
    assert "recollect" == command[0]
    assert "-w" == command[1]
    return run(*command[3:])


def test_superseding_shows_both_facts_and_the_command_that_takes_it_back(run: Run) -> None:
    tin, jar = remember(run, "Tea is in the tin"), remember(run, "Tea is in the jar")

    done = run("facts", "supersede", tin["id"], jar["id"])
    after = found(run, "tea")
    undone = obey(run, done.stdout)

    assert {"Tea is in the jar"} == after
    assert f"{jar['id']}  Tea is in the jar" in done.stdout
    assert f"{tin['id']}  Tea is in the tin" in done.stdout
    assert done.stdout.index(jar["id"]) < done.stdout.index(tin["id"])
    assert (0, True) == (undone.returncode, "is valid again" in undone.stdout)
    assert {"Tea is in the tin", "Tea is in the jar"} == found(run, "tea") == {*listed(run)}
    facts = listed(run).values()
    assert [([], None, None)] * 2 == [
        (fact["supersedes"], fact["supersededBy"], fact["validUntil"]) for fact in facts
    ]


def test_superseding_tells_programs_of_both_facts_and_of_the_way_back(run: Run) -> None:
    tin, jar = remember(run, "Tea is in the tin"), remember(run, "Tea is in the jar")

    done = json.loads(run("facts", "supersede", tin["id"], jar["id"], "--json").stdout)
    undone = json.loads(run("facts", "supersede", "--undo", tin["id"], "--json").stdout)

    assert (jar["id"], tin["id"]) == (done["id"], done["superseded"]["id"])
    assert jar["id"] == done["superseded"]["supersededBy"]
    assert [True] == [each.endswith(f"--undo {tin['id']}") for each in done["commands"]]
    assert (tin["id"], None) == (undone["id"], undone["supersededBy"])
    assert ([jar["id"]], []) == (undone["restoredFrom"], undone["contradicts"])


def test_a_fact_that_took_another_ones_place_by_itself_says_how_to_keep_both(run: Run) -> None:
    about = ("--entity", "api", "--key", "port")
    remember(run, "The api listens on 8080", *about, "--value", "8080")

    done = run("remember", "The api listens on 9090", *about, "--value", "9090")
    undone = obey(run, done.stdout)

    assert "remembered; replaces this fact (same entity and key, newer value):" in done.stdout
    assert "The api listens on 8080" in done.stdout
    assert 2 == len(listed(run))
    assert "contradict" in undone.stdout


def test_an_older_fact_is_not_said_to_hold(run: Run) -> None:
    about = ("--entity", "office", "--key", "city")
    now = remember(run, "The office is in Lisbon", *about, "--value", "Lisbon")

    done = run(
        "remember", "The office was in Porto", *about, "--value", "Porto",
        "--valid-from", "2020-01-01",
    )  # fmt: skip
    old = listed(run)["The office was in Porto"]["id"]
    obey(run, done.stdout)

    assert (
        "remembered, valid from 2020-01-01, but it contradicts this fact, which is newer:"
        in done.stdout
    )
    first = re.findall(r"facts supersede (\S+) (\S+)`", done.stdout)[0]
    assert (old, now["id"]) == first
    assert {"The office is in Lisbon"} == {*listed(run)}
    then = listed(run, "--as-of", "2020-06-01")
    assert {"The office was in Porto"} == {*then}


def test_a_fact_of_the_future_says_from_when_on_it_takes_the_others_place(run: Run) -> None:
    about = ("--entity", "office", "--key", "city")
    remember(run, "The office is in Lisbon", *about, "--value", "Lisbon")
    later = datetime.now(tz=UTC).year + 2

    done = run(
        "remember", "The office is in Ghent", *about, "--value", "Ghent",
        "--valid-from", f"{later}-01-01",
    )  # fmt: skip

    assert f"remembered, valid from {later}-01-01; replaces this fact" in done.stdout
    assert {"The office is in Lisbon"} == {*listed(run)} == found(run, "where is the office")
    assert {"The office is in Ghent"} == {*listed(run, "--as-of", f"{later}-02-01")}


def test_facts_that_contradict_one_another_are_marked_until_somebody_decides(run: Run) -> None:
    about = ("--entity", "office", "--key", "city")
    lisbon = remember(run, "The office is in Lisbon", *about, "--value", "Lisbon")["id"]
    remember(run, "Tea is in the tin")
    porto = remember(
        run, "The office is in Porto", *about, "--value", "Porto", "--valid-from", "2020-01-01"
    )["id"]

    contradicts = {text: fact["contradicts"] for text, fact in listed(run).items()}
    shown = run("facts", "list").stdout
    obey(run, shown, number=1)

    assert {
        "The office is in Lisbon": [porto],
        "The office is in Porto": [lisbon],
        "Tea is in the tin": [],
    } == contradicts
    assert "contradicts 3. The office is in Porto" in shown
    assert [(porto, lisbon), (lisbon, porto)] == re.findall(
        r"facts supersede (\S+) (\S+)` if this one is right", shown
    )
    after = listed(run)
    assert {"The office is in Porto", "Tea is in the tin"} == {*after}
    assert [[], []] == [fact["contradicts"] for fact in after.values()]


def test_list_and_search_report_a_line_that_was_broken_by_hand(run: Run, workspace: Path) -> None:
    remember(run, "Tea is in the tin")
    page = workspace / "memory" / "facts" / "other.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(text + "- Coffee is in the can <!-- f-12 by=owner -->\n", encoding="utf-8")
    line = len(text.splitlines()) + 1

    searched, shown = run("search", "tea"), run("facts", "list")
    told = json.loads(run("facts", "list", "--json").stdout)

    place = f"memory/facts/other.md:{line}"
    action = "Correct the line, or remove the comment to make it a plain bullet."
    assert [f"{place} has 'f-12' as its id. {action}"] == searched.stderr.splitlines()
    assert [f"{place} has 'f-12' as its id.", f"  → {action}"] == shown.stderr.splitlines()
    assert "Tea is in the tin" in searched.stdout
    assert "Tea is in the tin" in shown.stdout
    assert [{"path": place, "reason": "has 'f-12' as its id", "action": action}] == told["problems"]


def test_a_file_of_the_ledger_that_cannot_be_read_keeps_what_is_indexed_of_it(
    run: Run, workspace: Path
) -> None:
    remember(run, "Tea is in the tin")
    run("search", "tea")
    page = workspace / "memory" / "facts" / "other.md"
    page.write_bytes(page.read_bytes() + b"- Caf\xe9 is in the can\n")

    searched = run("search", "tea")

    assert "Tea is in the tin" in searched.stdout
    assert "memory/facts/other.md is not up to date: it " in searched.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        (f"The deploy token is {TOKEN}",),
        ("The router opens with password=hunter2Xy",),
        ("The wifi password is Blue-Whale-42",),
        ("How to open the router", "--entity", "router", "--key", "password", "--value", "hu2Xy!"),
    ],
)
def test_a_secret_is_refused_by_its_kind_and_stored_with_a_warning_if_forced(
    run: Run, workspace: Path, arguments: tuple[str, ...]
) -> None:
    refused = run("remember", *arguments)
    written = [*(workspace / "memory" / "facts").glob("*.md")]
    forced = run("remember", *arguments, "--force", "--json")
    fact = json.loads(forced.stdout)

    assert 2 == refused.returncode
    assert "a secret (GitHub token)" in refused.stderr or "a secret (password)" in refused.stderr
    assert "--force" in refused.stderr
    assert not any(word in refused.stderr for word in (TOKEN, "hunter2Xy", "Blue-Whale", "hu2Xy"))
    assert [] == written
    assert 0 == forced.returncode
    [notice] = fact["notices"]
    assert notice == forced.stderr.strip()
    assert f"recollect facts forget {fact['id']}" in notice
    assert 1 == len(listed(run))


@pytest.mark.parametrize(
    "text", ["The password is required", "The token is refreshed every 30 minutes", "Tea is tea"]
)
def test_what_is_no_secret_is_remembered_without_a_word(run: Run, text: str) -> None:
    done = run("remember", text, "--json")

    assert ("", []) == (done.stderr, json.loads(done.stdout)["notices"])


def test_a_list_is_narrowed_by_what_facts_are_about(run: Run) -> None:
    remember(run, "Ada likes tea", "--category", "preference", "--entity", "Ada", "--tag", "drinks")
    remember(run, "Ada lives in Ghent", "--category", "person", "--entity", "Ada", "--tag", "home")
    remember(
        run, "Bob likes tea", "--entity", "Bob", "--tag", "Drinks,green", "--scope", "user:bob"
    )

    asked = {
        options: {*listed(run, *options)}
        for options in (
            ("--entity", "ada"),
            ("--category", "person"),
            ("--tag", "drinks"),
            ("--tag", "drinks", "--tag", "green"),
            ("--text", "LIKES  tea"),
            ("--scope", "user:bob"),
            ("--scope", "user:bob", "--scope", "global"),
            ("--entity", "ada", "--text", "tea"),
            ("--entity", "nobody"),
        )
    }
    nothing = run("facts", "list", "--entity", "nobody")

    tea, home, bob = "Ada likes tea", "Ada lives in Ghent", "Bob likes tea"
    assert [
        {tea, home}, {home}, {tea, bob}, {bob}, {tea, bob}, {bob}, {tea, home, bob}, {tea}, set(),
    ] == list(asked.values())  # fmt: skip
    assert (0, "No facts match.\n") == (nothing.returncode, nothing.stdout)


def test_a_category_of_the_owners_own_can_be_listed(run: Run, workspace: Path) -> None:
    folder = workspace / "memory" / "facts"
    folder.mkdir()
    line = "- Soup wants leek <!-- f-06e5p3v8m1q0z category=recipe -->\n"
    (folder / "other.md").write_text(line, encoding="utf-8")

    assert {"Soup wants leek"} == {*listed(run, "--category", "recipe")}


def test_what_is_not_found_fails_and_what_is_called_wrongly_is_misuse(
    run: Run, tmp_path: Path
) -> None:
    known = remember(run, "Tea is in the tin")["id"]
    absent = str(tmp_path / "absent")
    missing = [
        ("facts", "show", UNKNOWN),
        ("facts", "show", "no-id"),
        ("facts", "forget", UNKNOWN),
        ("facts", "supersede", UNKNOWN, known),
        ("facts", "supersede", known, UNKNOWN),
        ("facts", "supersede", "--undo", UNKNOWN),
        ("remember", "Tea is cold", "--supersedes", UNKNOWN),
        ("ingest", "--dry-run", "--paths", "absent/*.md"),
        ("get", "memory/absent.md"),
        ("sessions", "forget", "absent"),
        ("sessions", "forget", "--undo", "absent"),
        ("sessions", "import", absent),
        ("reset", "absent", "--yes"),
    ]
    misused = [
        ("facts", "list", "--scope", "nobody"),
        ("facts", "list", "--category", "preferense"),
        ("facts", "supersede", known),
        ("facts", "supersede", "--undo", known),
        ("facts", "supersede", "--undo", known, UNKNOWN),
        ("facts", "supersede", known, known),
        ("remember", " "),
        ("remember", "Tea is cold", "--scope", "nobody"),
        ("recall", "tea", "--budget", "3"),
        ("sessions", "forget"),
    ]

    codes = {arguments: run(*arguments, "--json") for arguments in (*missing, *misused)}

    assert dict.fromkeys(missing, 1) | dict.fromkeys(misused, 2) == {
        arguments: done.returncode for arguments, done in codes.items()
    }
    assert {"not_found"} == {
        json.loads(codes[arguments].stdout)["error"]["type"] for arguments in missing
    }
    assert all(json.loads(done.stdout)["error"]["action"] for done in codes.values())


def test_forgetting_says_what_holds_again(run: Run) -> None:
    about = ("--entity", "wifi", "--key", "name")
    alpha = remember(run, "The wifi is Alpha", *about, "--value", "Alpha")["id"]
    beta = remember(run, "The wifi is Beta", *about, "--value", "Beta")["id"]

    done = run("facts", "forget", beta)

    said = f"Forgotten: The wifi is Beta\nValid again: {alpha}  The wifi is Alpha\n"
    assert done.stdout.startswith(said)


def test_forgetting_what_was_replaced_itself_brings_nothing_old_back(run: Run) -> None:
    about = ("--entity", "wifi", "--key", "name")
    remember(run, "The wifi is Alpha", *about, "--value", "Alpha")
    beta = remember(run, "The wifi is Beta", *about, "--value", "Beta")["id"]
    remember(run, "The wifi is Gamma", *about, "--value", "Gamma")

    done = json.loads(run("facts", "forget", beta, "--json").stdout)

    assert [] == done["restored"]
    assert {"The wifi is Gamma"} == {*listed(run)} == found(run, "wifi")


def test_an_export_is_lines_or_one_document(run: Run) -> None:
    texts = {"Tea is in the tin", "Coffee is in the can"}
    for text in texts:
        remember(run, text)

    lines = run("facts", "export").stdout
    document = json.loads(run("facts", "export", "--json").stdout)

    assert texts == {json.loads(line)["text"] for line in lines.splitlines()}
    assert texts == {fact["text"] for fact in document["facts"]}


def test_an_empty_list_says_how_to_begin(run: Run, workspace: Path) -> None:
    done = run("facts", "list")

    assert f"No facts.\n  → `recollect -w {workspace} remember TEXT` saves one.\n" == done.stdout


def test_forgetting_is_undone_by_the_command_that_it_prints(run: Run) -> None:
    tin = remember(run, "Tea is in the tin", "--entity", "tea", "--key", "place", "--value", "tin")
    jar = remember(run, "Tea's in the jar", "--entity", "tea", "--key", "place", "--value", "jar")

    gone = run("facts", "forget", "tea's in the jar")
    between = listed(run)
    undone = obey(run, gone.stdout)

    assert [tin["text"]] == [*between]
    assert f"Valid again: {tin['id']}" in gone.stdout
    assert (0, [jar["text"]]) == (undone.returncode, [*listed(run)])
    again = listed(run)[jar["text"]]
    assert ("tea", "place", "jar") == (again["entity"], again["key"], again["value"])


def test_a_forgotten_fact_comes_back_as_it_was_beside_one_that_contradicts_it(
    run: Run, workspace: Path
) -> None:
    file = workspace / "memory" / "facts" / "other.md"
    file.parent.mkdir(parents=True)
    file.write_text(
        "- Mum takes sugar <!-- f-0000000000001 entity=Mum key=tea value=yes by=owner "
        "created=2026-03-02T08:00:00Z -->\n"
        "- Mum takes no sugar <!-- f-0000000000002 entity=Mum key=tea value=no by=owner "
        "created=2026-04-02T08:00:00Z -->\n",
        encoding="utf-8",
    )
    before = file.read_text(encoding="utf-8")

    gone = run("facts", "forget", "Mum takes no sugar")
    assert "Mum takes no sugar" not in file.read_text(encoding="utf-8")
    undone = obey(run, gone.stdout)
    twice = obey(run, gone.stdout)

    assert (0, True) == (undone.returncode, "Mum takes no sugar" in undone.stdout)
    assert before == file.read_text(encoding="utf-8")
    assert "" == (file.parent / ".forgotten").read_text(encoding="utf-8")
    assert (2, True) == (twice.returncode, "is not forgotten" in twice.stderr)


def test_a_forgotten_link_of_a_chain_comes_back_between_its_neighbours(
    run: Run, workspace: Path
) -> None:
    about = ("--entity", "wifi", "--key", "name")
    for name in ("Alpha", "Beta", "Gamma"):
        remember(run, f"The wifi is {name}", *about, "--value", name)
    file = workspace / "memory" / "facts" / "other.md"
    before = sorted(file.read_text(encoding="utf-8").splitlines())

    for name in ("Beta", "Gamma"):
        obey(run, run("facts", "forget", f"The wifi is {name}").stdout)

        assert before == sorted(file.read_text(encoding="utf-8").splitlines())


def test_a_forgotten_fact_that_was_superseded_comes_back_as_superseded(run: Run) -> None:
    about = ("--entity", "wifi", "--key", "name")
    remember(run, "The wifi is Alpha", *about, "--value", "Alpha")
    beta = remember(run, "The wifi is Beta", *about, "--value", "Beta")
    before = listed(run, "--include-superseded")

    undone = obey(run, run("facts", "forget", before["The wifi is Alpha"]["id"]).stdout)

    assert "  is superseded again\n  wifi, name = Alpha, by owner, since" in undone.stdout
    assert before == listed(run, "--include-superseded")
    assert {"The wifi is Beta": beta["id"]} == {
        text: each["id"] for text, each in listed(run).items()
    }


@pytest.mark.parametrize("text", ["-w evil", "--config=/no/such.toml", "the password: hunter2Qx9"])
def test_a_forgotten_fact_comes_back_with_all_its_details_whatever_its_text(
    run: Run, workspace: Path, text: str
) -> None:
    file = workspace / "memory" / "facts" / "other.md"
    file.parent.mkdir(parents=True)
    file.write_text(
        "- Tea is in the tin <!-- f-0000000000002 by=owner created=2026-03-01T08:00:00Z -->\n"
        f"- {text} <!-- f-0000000000001 tags=a decay=stable confidence=0.4 valid-from=2026-01-02"
        " valid-until=2099-01-02 by=agent source=memory/a.md created=2026-03-02T08:00:00Z -->\n",
        encoding="utf-8",
    )
    before = file.read_text(encoding="utf-8")

    undone = obey(run, run("facts", "forget", "f-0000000000001").stdout)

    assert (0, True) == (undone.returncode, "is valid again" in undone.stdout)
    assert before == file.read_text(encoding="utf-8")


def test_what_is_no_forgotten_entry_is_not_brought_back(run: Run) -> None:
    for entry in ("", "The wifi is Alpha", "- The wifi is Alpha"):
        done = run("facts", "forget", "--undo", entry)

        assert (2, True) == (done.returncode, "not one entry of memory/facts" in done.stderr)


def test_a_fact_is_named_by_its_words_or_by_its_number(run: Run) -> None:
    for text in ("Tea is in the tin", "Coffee is in the jar", "The jar is blue"):
        remember(run, text)
    lines = run("facts", "list").stdout.splitlines()
    (number,) = [line.split(".")[0] for line in lines if "The jar is blue" in line]

    assert "Coffee is in the jar" in run("facts", "show", "coffee").stdout
    assert "The jar is blue" in run("facts", "show", number).stdout
    several = run("facts", "forget", "jar")
    assert (2, True) == (several.returncode, "2 facts have these words" in several.stderr)
    unknown = run("facts", "forget", "zebra")
    assert (1, True) == (unknown.returncode, "No fact has the words 'zebra'." in unknown.stderr)
    assert 3 == len(listed(run))


def test_a_fact_is_named_by_all_that_its_list_shows_and_a_list_needs_no_word(run: Run) -> None:
    remember(run, "Ines wears a helmet", "--entity", "Ines", "--key", "hat size", "--value", "57")
    remember(run, "The jar is blue")

    assert "Ines wears a helmet" in run("facts", "show", "hat size").stdout
    assert ["Ines wears a helmet"] == [*listed(run, "--text", "Ines hat size")]
    assert "There is no fact 9: there are 2." in run("facts", "forget", "9").stderr
    assert run("facts", "list").stdout == run("facts").stdout
    assert len(json.loads(run("facts", "--json").stdout)["facts"]) == 2


def test_a_list_of_facts_leaves_out_what_says_nothing(run: Run) -> None:
    remember(run, "Tea is in the tin")
    remember(run, "Ada drinks coffee", "--category", "preference")

    shown = run("facts", "list").stdout

    assert "other" not in shown
    assert "global" not in shown
    assert "preference, by owner" in shown


def test_a_fact_merged_into_an_older_one_does_not_end_before_it_began(run: Run) -> None:
    old, new = remember(run, "Tea is in the tin"), remember(run, "The tea is in the tin box")

    run("facts", "supersede", new["id"], old["id"])
    merged = json.loads(run("facts", "show", new["id"], "--json").stdout)["facts"]
    (ended,) = [each for each in merged if each["id"] == new["id"]]

    assert ended["validUntil"] >= ended["created"]


def test_every_answer_with_a_fact_says_which_others_contradict_it(run: Run) -> None:
    about = ("--entity", "Ada", "--key", "sugar", "--value")
    no = remember(run, "Ada takes no sugar in her tea", *about, "no")
    yes = remember(run, "Ada takes sugar in her tea", *about, "yes")
    run("facts", "supersede", "--undo", no["id"])

    hits = json.loads(run("search", "does Ada take sugar in her tea", "--json").stdout)["results"]
    shown = run("search", "does Ada take sugar in her tea").stdout
    block = run("recall", "does Ada take sugar in her tea").stdout

    others = {f"{each['id']} {each['text']}" for each in (no, yes)}
    assert others == {other for hit in hits for other in hit["contradicts"]}
    assert all(f"contradicted by {other}" in shown for other in others)
    assert all(f"contradicted by {other}" in block for other in others)
