"""Every command on hostile clones: nothing outside is opened or changed, nothing hangs or grows.

The generator is in tests/support/hostile.py, the long version in tests/campaigns/hostile.py.
"""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING

import pytest
from tests.support.commands import ROOT
from tests.support.hostile import COMMANDS, Clone, leaf_commands
from tests.support.traps import CANARY, snapshot

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="traced by /proc")


def test_every_command_is_driven() -> None:
    assert sorted(COMMANDS) == sorted(leaf_commands())


@pytest.mark.parametrize(("seed", "in_settings"), [(1, False), (3, True)])
def test_a_hostile_clone_is_kept_inside(tmp_path: Path, seed: int, in_settings: bool) -> None:  # noqa: FBT001
    with Clone(tmp_path / "all", random.Random(seed)) as clone:
        clone.make(traps=25, in_settings=in_settings)
        before = snapshot(clone.user)

        for name, variants in COMMANDS.items():
            for arguments in variants[: 1 if in_settings else None]:
                clone.run(*name, *arguments)

        clone.check(before)


def test_what_is_opened_outside_would_be_noticed(tmp_path: Path) -> None:
    with Clone(tmp_path / "all", random.Random(1)) as clone:
        clone.make(traps=0, in_settings=False)
        clone.settings["RECOLLECT_EXTRA_PATHS"] = str(clone.user)

        with pytest.raises(AssertionError, match=r"user/diary\.md"):
            clone.run("index")
        with pytest.raises(AssertionError, match=CANARY):
            clone.run("search", "lamp diary", "--json")
        with pytest.raises(AssertionError, match=r"\.sqlite"):
            clone.check(snapshot(clone.user))


def test_the_library_is_kept_inside_too(tmp_path: Path) -> None:
    with Clone(tmp_path / "all", random.Random(4)) as clone:
        clone.make(traps=25, in_settings=False)
        before = snapshot(clone.user)

        clone.run(command=[sys.executable, "-m", "tests.support.library_tour"], folder=ROOT)

        clone.check(before)
