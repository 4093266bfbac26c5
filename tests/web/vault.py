"""Workspaces for the page: the sample with more in it, hostile notes, and a big one."""

from __future__ import annotations

import base64
import json
import os
import shutil
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recollect import Memory
from recollect.stores.base import SpaceTexts
from recollect.stores.sqlite import SqliteStore
from recollect.types import Fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from recollect.types import Vectors

ROOT = Path(__file__).parent.parent.parent
SAMPLE = ROOT / "examples" / "workspace"
CASES = ROOT / "tests" / "golden" / "cases" / "phrasings.jsonl"

HOSTILE_NAME = "memory/<img src=x onerror=alert(9)>.md"
HOSTILE = """# <b onmouseover=alert(1)>Quixotic heading</b>

Quixotic <script>alert(2)</script> and <img src=x onerror=alert(3)> stay text.
[a link](javascript:alert(4)) <iframe src="https://outside.invalid/frame"></iframe>
![picture](https://outside.invalid/pixel.png) <svg onload=alert(5)>
Turned \u202egnihtyreve\u202c around, an escape \x1b[31mred\x1b[0m, nothing\u200bseen.
[www.mybank.invalid](https://mybank.in/) [https://mybank.invalid](https://mybank.in/)
[mybank.in/help](https://mybank.in/)
"""
TABLE = """# Debts

| Ledger | <b>Due</b> |
| --- | :-: |
| quixotic | a \\| b |
| plain | |
"""
LINKED = """---
tags: [wings]
---
# Rendering of markup

The *ornithopter* is **ready**; see `wing_span` and [[Debts|the debts]].
Read [the guide](../MEMORY.md) or <https://example.invalid/guide>. #aviation
我每天骑自行车上班，自行車很旧。
"""
RICH = """---
title: A rich note
tags: [alpha, "beta"]
born: 1971-06-30
friends:
  - "[[people]]"
---
# A rich note

Some *emphasis* and a [[table|table of debts]].
A second line; see [below](#deep-heading).

## Tasks

- [x] oil the hinge
- [ ] paint the door
  - nested entry
    that goes on

1. first
2. second

#### Deep heading

> A quotation
> [!note] of two lines

```python
print("<b>")  # not a heading
```

| tool | where |
|---|--:|
| `awl` | a \\| b |

![the lake](attached/lake.png) and ![[lake.png]] but ![a pixel](https://outside.invalid/x.png)

<private>unseen</private> ends. #gamma
"""
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SAID = (
    ("user", "Where did we put the spare key of the workshop?", "2026-09-15T09:00:00Z"),
    (
        "assistant",
        "The spare key of the workshop hangs behind the blue barrel.",
        "2026-09-15T09:01:00Z",
    ),
)
BROKEN = b"\xff\xfe\x00 not text \x80\x81" * 9
OWNERS = ("Wen Qiu", "Tomasz Wilk", "Haruka Mizuno")

BIG_FILES = 1000
BIG_SECTIONS = 20
BIG_CHUNKS = BIG_FILES * BIG_SECTIONS
_CLUSTERS = 12
_AT_ONCE = 5000  # vectors stored in one step


def copy_sample(folder: Path, *, cases: int = 12) -> Path:
    """Return a private copy of the sample workspace with a file of so many cases."""
    workspace = Path(shutil.copytree(SAMPLE, folder))
    lines = CASES.read_text(encoding="utf-8").splitlines()[:cases]
    (workspace / "memory-cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return workspace


def add_conversation(workspace: Path, *, home: Path) -> None:
    """Write a conversation of Claude Code that was held in the workspace."""
    name = "".join(letter if letter.isalnum() else "-" for letter in str(workspace))
    own = home / ".claude" / "projects" / name
    own.mkdir(parents=True)
    rows = [
        {
            "type": role,
            "message": {"role": role, "content": text},
            "uuid": f"{role}-{at}",
            "timestamp": at,
            "sessionId": "5f0c",
            "cwd": str(workspace),
        }
        for role, text, at in SAID
    ]
    (own / "5f0c.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")


def add_facts(workspace: Path, *, environ: Mapping[str, str]) -> None:
    """Remember facts: one that was superseded twice, a private one, a contradiction."""
    with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as memory:
        for owner in OWNERS:
            memory.facts.remember(
                f"{owner} owns the database migration",
                category="decision",
                entity="database migration",
                key="owner",
                value=owner,
            )
        memory.facts.remember("Ada takes her tea without milk", scope="user:ada")
        memory.facts.remember(
            "Miso weighs four kilograms", entity="Miso", key="weight", value="four kilograms"
        )
        first = memory.facts.remember(
            "The lock at the weir has 12 steps", entity="weir", key="steps", value="12"
        )
        second = memory.facts.remember(
            "The lock at the weir has 14 steps", entity="weir", key="steps", value="14"
        )
        assert second.fact.id != first.fact.id
        memory.facts.restore(first.fact.id)


def add_past(workspace: Path, *, environ: Mapping[str, str]) -> None:
    """Remember facts as a year would have brought them, for pictures."""
    owner = {"category": "decision", "entity": "database migration", "key": "owner"}
    weight = {"category": "fact", "entity": "Miso", "key": "weight"}
    said: tuple[tuple[str, date, dict[str, str]], ...] = (
        ("Wen Qiu owns the database migration", date(2026, 3, 2), {**owner, "value": "Wen Qiu"}),
        (
            "Tomasz Wilk owns the database migration",
            date(2026, 6, 15),
            {**owner, "value": "Tomasz"},
        ),
        (
            "Wen Qiu and Tomasz own the database migration together",
            date(2026, 9, 21),
            {**owner, "value": "Wen Qiu and Tomasz"},
        ),
        ("Miso weighs 4.6 kg", date(2026, 5, 4), {**weight, "value": "4.6 kg"}),
        ("Miso weighs 4.1 kg", date(2026, 9, 17), {**weight, "value": "4.1 kg"}),
        (
            "Haruka is asked on Tuesdays and Thursdays only",
            date(2026, 1, 12),
            {"category": "preference", "entity": "Haruka Mizuno", "scope": "user:ines"},
        ),
        (
            "No deployments on Fridays, nor within 48 hours of an observing night",
            date(2025, 5, 20),
            {"category": "rule", "entity": "deployments"},
        ),
    )
    with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as memory:
        for text, day, about in said:
            since = datetime.combine(day, time(), tzinfo=UTC)
            memory.facts.remember(text, valid_from=since, **about)  # type: ignore[arg-type]


def add_years(workspace: Path) -> None:
    """Give the files of undated notes times as years of writing would have left them."""
    start = datetime(2026, 1, 10, 9, tzinfo=UTC)
    files = sorted((workspace / "memory").rglob("*.md"))
    for number, file in enumerate([*files, workspace / "MEMORY.md", workspace / "USER.md"]):
        moment = (start + timedelta(days=4 * number)).timestamp()
        os.utime(file, (moment, moment))


def write_hostile(workspace: Path) -> None:
    """Write notes that try to act in the page that shows them."""
    for name in ("memory/hostile.md", HOSTILE_NAME):
        (workspace / name).write_text(HOSTILE, encoding="utf-8")
    (workspace / "memory" / "table.md").write_text(TABLE, encoding="utf-8")
    (workspace / "memory" / "linked.md").write_text(LINKED, encoding="utf-8")
    (workspace / "memory" / "rich.md").write_text(RICH, encoding="utf-8")
    (workspace / "memory" / "attached").mkdir()
    (workspace / "memory" / "attached" / "lake.png").write_bytes(PICTURE)


def write_big(workspace: Path) -> None:
    """Write a thousand days of twenty short notes each; every note becomes a chunk."""
    (workspace / "memory").mkdir(parents=True)
    first = date(2023, 1, 1)
    words = ("harbour", "lantern", "orchard", "gravel", "copper", "violin", "meadow", "thistle")
    for number in range(BIG_FILES):
        day = first + timedelta(days=number)
        parts = [f"# {day}"]
        for section in range(BIG_SECTIONS):
            about = words[(number + section) % len(words)]
            other = words[(number * 7 + section * 3) % len(words)]
            parts.append(
                f"## {section // 2:02}:{section % 2 * 30:02} The {about}\n\n"
                f"Note {number * BIG_SECTIONS + section}: the {about} is next to the {other}."
            )
        (workspace / "memory" / f"{day}.md").write_text("\n\n".join(parts), encoding="utf-8")


def index_big(workspace: Path, *, environ: Mapping[str, str]) -> None:
    """Index by words with the real sync, then store made-up vectors in the real model's space.

    Embedding so many texts with the model takes minutes. What the page, the server and the store
    do with vectors is the same whatever they mean.
    """
    with Memory.open(workspace, environ=environ) as memory:
        fingerprint = Fingerprint.parse(str(memory.status().legs.vector.space))
    with Memory.open(workspace, environ=environ, settings={"provider": "none"}) as memory:
        memory.sync()
        index = Path(memory.status().index.location)
    rng = np.random.default_rng(20260201)
    centres = rng.normal(size=(_CLUSTERS, fingerprint.dimensions or 0))
    with SqliteStore.open(index) as store:
        after = 0
        while missing := store.missing(SpaceTexts(fingerprint), limit=_AT_ONCE, after=after):
            store.put_vectors(
                fingerprint,
                digests=[each.digest for each in missing],
                vectors=_made_up(len(missing), centres=centres, rng=rng),
            )
            after = missing[-1].number
        store.publish(fingerprint)


def _made_up(count: int, *, centres: npt.NDArray[np.float64], rng: np.random.Generator) -> Vectors:
    chosen = centres[rng.integers(len(centres), size=count)]
    vectors = chosen + rng.normal(size=chosen.shape)
    unit: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit
