"""The soak notices what it is there to notice: growth, and answers that nothing explains."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.campaigns.soak.clients import Http
from tests.campaigns.soak.measures import LIMITS, Measures
from tests.campaigns.soak.topics import Topics
from tests.http.servers import commands
from tests.support.history import Recorder, check, load, look_up

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.http.servers import Command

MINUTES = 100


@dataclass
class Served:
    """A server that is not killed."""

    command: Command
    name: str = "serve"
    is_mortal: bool = False

    @property
    def child(self) -> subprocess.Popen[bytes]:
        return self.command.child  # type: ignore[return-value]  # nobody reads its output

    @property
    def url(self) -> str:
        return self.command.url


def measured(tmp_path: Path, *, unit: str, growth: float) -> Measures:
    measures = Measures(tmp_path / "samples.jsonl")
    for minute in range(MINUTES):
        measures.add(minute * 60, "serve", unit, 100 + growth * minute / MINUTES)
    return measures


def test_growth_beyond_its_limit_is_told_and_within_it_is_not(tmp_path: Path) -> None:
    for unit, limit in LIMITS.items():
        # The middles of the first and the last third are 60 % of the time apart.
        allowed = (100 * limit.factor + limit.plus - 100) / 0.6
        for growth, is_flat in ((0, True), (allowed * 0.8, True), (allowed * 1.6, False)):
            [trend] = measured(tmp_path, unit=unit, growth=growth).trends(minutes=MINUTES)

            assert is_flat == trend.is_flat, trend
            assert abs(growth - trend.slope * MINUTES / 60) < 0.01 * growth + 0.01


def test_what_a_server_answers_is_explained_until_someone_meddles(
    tmp_path: Path, workspace: Path, environ: dict[str, str]
) -> None:
    recorder = Recorder(tmp_path / "history.jsonl")
    topics, chance = Topics(recorder, count=2), random.Random(4)
    with commands() as start:
        client = Http(Served(start(workspace, environ, "--port", "0")))
        for _ in range(60):
            topics.change(client, chance)
    recorder.close()
    facts = workspace / "memory" / "facts"

    history = load(tmp_path / "history.jsonl")
    before = check([*history, *look_up(facts, history)])
    file = next(facts.glob("*.md"))
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(lines[:-1]), encoding="utf-8")

    assert recorder.calls == history
    assert {"remember", "forget", "read", "supersede"} <= {call.kind for call in history}
    assert [] == before
    assert 1 == len(check([*history, *look_up(facts, history)]))
