"""Facts said on purpose: nothing that was said is dropped, hidden or ended without a word."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol, TypedDict

import pytest
from tests.support.commands import recollect_command

from recollect import Memory
from recollect.errors import UsageError
from recollect.facts.book import FactFilter
from recollect.facts.record import Provenance

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class About(TypedDict):
    entity: str
    key: str


ABOUT: About = {"entity": "wifi", "key": "name"}


class Run(Protocol):
    def __call__(
        self, *arguments: str, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]: ...


@pytest.fixture
def memory(workspace: Path, environ: dict[str, str], each_store: str) -> Iterator[Memory]:
    settings = {"provider": "none", "store": each_store}
    with Memory.open(workspace, environ=environ, settings=settings) as opened:
        yield opened


@pytest.fixture
def run(workspace: Path, environ: dict[str, str]) -> Run:
    def command(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*recollect_command(), *arguments],
            cwd=cwd or workspace,
            env={**environ, "RECOLLECT_PROVIDER": "none"},
            capture_output=True,
            text=True,
            check=False,
        )

    return command


def test_saying_a_known_text_again_adds_the_details_it_had_none_of(memory: Memory) -> None:
    known = memory.facts.remember("The wifi is Alpha", tags=["home"]).fact

    again = memory.facts.remember(
        "The wifi is Alpha", category="technical", value="Alpha", tags=["net"], **ABOUT
    )

    [fact] = memory.facts.all()
    assert (known.id, "wifi", "name", "Alpha", "technical", ("home", "net")) == (
        fact.id, fact.entity, fact.key, fact.value, fact.category, fact.tags
    )  # fmt: skip
    assert ("update", fact) == (again.decision.verdict, again.fact)
    assert "updated: category, entity, key, value, tags" in again.decision.reason
    assert () == again.notices


def test_details_that_a_known_fact_says_otherwise_are_named_and_not_taken(memory: Memory) -> None:
    known = memory.facts.remember("The wifi is Alpha", value="Alpha", **ABOUT).fact

    again = memory.facts.remember("The wifi is Alpha", entity="printer", key="colour")

    assert [known] == memory.facts.all()
    assert "existing" == again.decision.verdict
    [notice] = again.notices
    assert "entity printer, key colour" in notice
    assert known.id in notice


def test_an_agent_adds_no_details_to_what_the_owner_said(memory: Memory) -> None:
    known = memory.facts.remember("The wifi is Alpha").fact

    again = memory.facts.remember(
        "The wifi is Alpha", value="Alpha", provenance=Provenance.AGENT, **ABOUT
    )

    assert [known] == memory.facts.all()
    assert "entity wifi, key name, value Alpha" in again.notices[0]


def test_details_that_make_a_contradiction_say_so(memory: Memory) -> None:
    memory.facts.remember("The wifi is Alpha")
    beta = memory.facts.remember("The wifi is Beta", value="Beta", **ABOUT).fact

    again = memory.facts.remember("The wifi is Alpha", value="Alpha", **ABOUT)

    assert (beta,) == again.contradicts


def test_superseding_one_fact_does_not_hide_that_another_is_contradicted(memory: Memory) -> None:
    early = datetime(2020, 1, 1, tzinfo=UTC)
    now = memory.facts.remember("The wifi is Alpha", value="Alpha", **ABOUT).fact
    then = memory.facts.remember("The wifi is Beta", value="Beta", valid_from=early, **ABOUT).fact

    done = memory.facts.remember("The wifi is Gamma", value="G", supersedes=[then.id], **ABOUT)

    assert (now,) == done.contradicts


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("Visitors need to sign in at the gate", "rule"),
        ("Nobody deploys this week", "rule"),
        ("The sprint length is two weeks", "other"),
        ("Turn the crank right now and then", "other"),
        ("Working on glass takes patience", "other"),
        ("The lift is broken right now", "other"),
    ],
)
def test_what_is_stated_on_purpose_does_not_expire(
    memory: Memory, text: str, category: str
) -> None:
    said = memory.facts.remember(text, category=category)

    assert said.fact.expires is None


def test_a_fact_holds_until_the_end_of_the_day_it_expires_on(run: Run) -> None:
    day = (datetime.now(tz=UTC) + timedelta(days=40)).date()

    said = run("remember", "The pass is valid", "--expires", str(day))
    past = run("remember", "The ticket is valid", "--expires", "2020-01-01")

    assert f"remembered, until {day}\n" in said.stdout
    assert (2, True) == (past.returncode, "would expire before it becomes valid" in past.stderr)


def test_a_key_without_entity_or_value_says_that_it_is_not_compared(memory: Memory) -> None:
    [key] = memory.facts.remember("One", key="name").notices
    [value] = memory.facts.remember("Two", entity="wifi", key="name").notices
    entity = memory.facts.remember("Three", entity="wifi").notices

    assert "it has no entity" in key
    assert "it has no value" in value
    assert () == entity


def test_a_memory_that_begins_because_none_was_found_says_where(run: Run, tmp_path: Path) -> None:
    (tmp_path / "nowhere").mkdir()
    first = run("remember", "One", "--json", cwd=tmp_path / "nowhere")
    (tmp_path / "cloned" / "memory" / "facts").mkdir(parents=True)  # not indexed here
    below = tmp_path / "cloned" / "below"
    below.mkdir()
    second = run("remember", "Two", cwd=below)
    again = run("remember", "Three", cwd=below)
    named = run("-w", str(tmp_path), "remember", "Four")

    assert [True] == [
        f"Started a memory in {tmp_path / 'nowhere'}" in each
        for each in json.loads(first.stdout)["notices"]
    ]
    assert f"Started a memory in {below}:" in second.stderr
    assert f"{below.parent} has facts too" in second.stderr
    assert ("", "") == (again.stderr, named.stderr)


def test_an_empty_list_says_which_day_or_what_was_left_out(run: Run, memory: Memory) -> None:
    tea = memory.facts.remember("Tea is in the tin").fact
    jar = memory.facts.remember("Tea is in the jar").fact
    memory.facts.supersede(tea.id, by=jar.id)

    then = run("facts", "list", "--as-of", "2001-01-01")
    tin = run("facts", "list", "--text", "tin")

    assert "No fact was valid on 2001-01-01.\n" == then.stdout
    assert "No facts match.\n  → `--include-superseded` also shows 1 superseded.\n" == tin.stdout


def test_superseding_the_wrong_way_round_proposes_to_take_it_back(memory: Memory) -> None:
    tin = memory.facts.remember("Tea is in the tin").fact
    jar = memory.facts.remember("Tea is in the jar").fact
    memory.facts.supersede(tin.id, by=jar.id)

    errors = []
    for old, new in ((jar, tin), (tin, tin)):
        with pytest.raises(UsageError) as raised:
            memory.facts.supersede(old.id, by=new.id)
        errors.append(raised.value)
    memory.facts.restore(tin.id)
    memory.facts.supersede(jar.id, by=tin.id)

    assert f"{tin.id} cannot supersede {jar.id}, which supersedes it." == errors[0].message
    assert f"facts supersede --undo {tin.id}`" in errors[0].action
    assert f"{tin.id} cannot supersede itself." == errors[1].message
    assert ["Tea is in the tin"] == [fact.text for fact in memory.facts.all()]


def test_the_kind_of_a_scope_is_read_in_any_case_and_its_name_as_written(memory: Memory) -> None:
    memory.facts.remember("Ada likes tea", scope="User:ada")

    def seen(scope: str) -> list[str]:
        return [fact.text for fact in memory.facts.listed(FactFilter(scopes=(scope,))).facts]

    assert ["Ada likes tea"] == seen("USER:ada")
    assert [] == seen("user:Ada")


def test_a_text_that_is_no_fact_for_its_length_is_refused_and_nothing_is_written(
    memory: Memory, workspace: Path
) -> None:
    with pytest.raises(UsageError, match="this has 4,001 characters"):
        memory.facts.remember("x" * 4001)

    assert not (workspace / "memory" / "facts").exists()
    assert "x" * 4000 == memory.facts.remember("x" * 4000).fact.text
