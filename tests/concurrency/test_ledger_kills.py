"""Changes of facts in several files, killed between two of them: done, or not done at all."""

from __future__ import annotations

import shutil
import signal
from typing import TYPE_CHECKING

import pytest
from tests.support.kill_points import Mortals

from recollect import Memory
from recollect.facts.book import FactFilter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    Ids = dict[str, str]

CHANGES = {
    "forget the newest": "facts forget {ash}",
    "forget one between": "facts forget {elm}",
    "forget one that took over": "facts forget {white}",
    "supersede": "facts supersede {first} {second}",
    "restore": "facts supersede --undo {elm}",
    "remember a newer value": (
        "remember black --category person --entity door --key is --value black"
    ),
}


@pytest.fixture(scope="module")
def mortals() -> Iterator[Mortals]:
    with Mortals() as opened:
        yield opened


@pytest.fixture
def ids(workspace: Path, environ: dict[str, str]) -> Ids:
    """Facts in two files that replaced each other."""
    stored: Ids = {}
    with Memory.open(workspace, environ=environ) as memory:

        def state(value: str, category: str, entity: str = "", key: str = "") -> None:
            text = f"The {entity or 'lamp'} is {value}"
            about = {"category": category, "entity": entity, "key": key, "value": value}
            stored[value] = memory.facts.remember(text, **about).fact.id  # type: ignore[arg-type]

        state("oak", "technical", "gate", "is")
        state("elm", "project", "gate", "is")
        state("ash", "technical", "gate", "is")
        state("red", "technical", "door", "is")
        state("green", "technical", "door", "is")
        state("white", "project", "door", "is")
        memory.facts.forget(
            stored["green"]
        )  # the white door takes over what the green one replaced
        state("first", "technical")
        state("second", "project")
    return stored


def seen(workspace: Path, environ: dict[str, str]) -> tuple[list[str], list[str]]:
    """Return the valid facts, and all that are stored."""
    with Memory.open(workspace, environ=environ) as memory:
        assert [] == list(memory.facts.listed(FactFilter()).problems)
        every = memory.facts.all(include_superseded=True)
        return [fact.text for fact in memory.facts.all()], [fact.text for fact in every]


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_facts_killed_between_two_files_is_done_or_not_done(
    workspace: Path, environ: dict[str, str], ids: Ids, mortals: Mortals, name: str
) -> None:
    before = seen(workspace, environ)
    views: list[tuple[list[str], list[str]]] = []
    codes: list[int] = []
    while codes[-1:] != [0]:
        own = workspace.parent / "killed"
        shutil.copytree(workspace, own)
        done = mortals.run(
            {
                "arguments": ["-w", str(own), *CHANGES[name].format(**ids).split()],
                "environ": environ,
                "said": f"{own}.said",
                "only": "os.rename",
                "point": len(codes) + 1,
                "after_seconds": 0,
            }
        )
        codes.append(done.code)
        views.append(seen(own, environ))
        shutil.rmtree(own)

    assert {-signal.SIGKILL} == set(codes[:-1]), codes
    assert len(codes) > 2, "it is killed before, between and after files"
    assert {str(before), str(views[-1])} == set(map(str, views))
