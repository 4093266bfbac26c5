"""The power is cut: what a command had acknowledged is there, and nothing is half written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.faults import opened
from tests.support.faulty_runs import can_build
from tests.support.power_cuts import COMMANDS, PowerCuts

if TYPE_CHECKING:
    from collections.abc import Iterator

_SEED = 3
_RANDOM_CUTS = 4
"""`make faults` makes a thousand."""


@pytest.fixture(scope="module")
def power(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PowerCuts]:
    if not can_build():
        pytest.skip("needs Linux and a C compiler")
    folder = tmp_path_factory.mktemp("power")
    commands = [each for each in COMMANDS if each[0] in ("remember", "install", "config")]
    with opened(folder) as faults:
        yield PowerCuts(faults, folder, commands=commands)


def test_what_was_acknowledged_survives_even_in_folders_that_were_just_made(
    power: PowerCuts,
) -> None:
    cuts = power.cuts_after_commands()

    wrong = [f"{cut}: {sentence}" for cut in cuts for sentence in power.attempt(cut)]

    assert [] == wrong
    assert len(cuts) > 1


def test_whenever_the_power_is_cut_every_file_is_as_before_or_as_after(power: PowerCuts) -> None:
    cuts = list(power.cuts(_RANDOM_CUTS, seed=_SEED))

    assert [] == [f"{cut}: {sentence}" for cut in cuts for sentence in power.attempt(cut)]
