"""The soak notices what it is there to notice: growth, and answers that nothing explains."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.campaigns.soak.clients import Http, LostError
from tests.campaigns.soak.measures import LIMITS, Measures
from tests.campaigns.soak.topics import Topics
from tests.http.servers import commands
from tests.support.history import Recorder, check, load, look_up

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.campaigns.soak.clients import Json
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


class LosesAnswers(Http):
    """A client that never hears that a fact is forgotten, so it goes on naming it."""

    def forget(self, fact_id: str) -> Json:
        super().forget(fact_id)
        raise LostError(is_over=True)


def measured(tmp_path: Path, *, unit: str, growth: float) -> Measures:
    measures = Measures(tmp_path / "samples.jsonl")
    for minute in range(MINUTES):
        measures.add(minute * 60, "serve", unit, 100 + growth * minute / MINUTES)
    return measures


def test_only_growth_beyond_its_limit_is_not_flat(tmp_path: Path) -> None:
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
        server = Served(start(workspace, environ, "--port", "0"))
        clients = (Http(server), LosesAnswers(server))
        for _ in range(120):
            topics.change(chance.choice(clients), chance)
    recorder.close()
    facts = workspace / "memory" / "facts"

    history = load(tmp_path / "history.jsonl")
    before = check([*history, *look_up(facts, history)])
    file = next(facts.glob("*.md"))
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(lines[:-1]), encoding="utf-8")

    assert recorder.calls == history
    assert {"remember", "forget", "read", "supersede"} <= {call.kind for call in history}
    assert {"done", "missing", "refused", "lost"} <= {call.outcome for call in history}
    # The fact that should supersede another is gone.
    assert ("supersede", "missing") in {(call.kind, call.outcome) for call in history}
    assert [] == before
    assert 1 == len(check([*history, *look_up(facts, history)]))
