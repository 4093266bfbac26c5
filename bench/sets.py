"""The labelled sets as real workspaces: one Markdown file a document, one workspace a scope.

Sets lie outside the repository, in the folder named by RECOLLECT_BENCH_SETS; what is made of them
is kept under bench/.cache. A set is corpus.jsonl, queries.jsonl and qrels.tsv.
"""

from __future__ import annotations

import json
import os
import re
from calendar import month_name
from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from pathlib import Path

CACHE = Path(__file__).parent / ".cache"
# Taken out of the environment, where every RECOLLECT_… is a setting.
SETS = Path(os.environ.pop("RECOLLECT_BENCH_SETS", Path(__file__).parents[2] / "shared/datasets"))
NAMES = (
    "cranfield",
    "scifact",
    "locomo_turns",
    "locomo_sessions",
    "longmemeval_sessions",
    "realmem_notes",
    "realmem_sessions",
    "zh_cmrc2018",
    "ja_jsquad",
    "ko_korquad",
    "xquad_zh",
    "xquad_ru",
    "xquad_es",
)


@dataclass(frozen=True, slots=True)
class Question:
    """A query with its graded answers."""

    id: str
    text: str
    kind: str
    day: date | None
    """When it was asked."""
    grades: dict[str, int]
    """Document id → grade."""


ASKED_IN_PASSING = ("realmem_notes", "realmem_sessions")
"""Sets of messages in the middle of a conversation: memory holds only what was said before."""


@dataclass(frozen=True, slots=True)
class Scoped:
    """One workspace of a set, with the questions asked of it."""

    name: str
    workspace: Path
    documents: dict[str, str]
    """Path → document id."""
    questions: list[Question]


def load_set(name: str) -> list[Scoped]:
    """Write the set's workspaces if they are not there, and return them with their questions."""
    folder = SETS / name
    by_scope: dict[str, list[dict[str, str]]] = defaultdict(list)
    for document in _records(folder / "corpus.jsonl"):
        by_scope[document.get("scope", "all")].append(document)
    questions = _questions(folder)
    return [
        Scoped(
            name=f"{name}/{scope}",
            workspace=(workspace := CACHE / "workspaces" / name / _safe(scope)),
            documents=_write(workspace, documents),
            questions=questions[scope],
        )
        for scope, documents in by_scope.items()
    ]


def _questions(folder: Path) -> dict[str, list[Question]]:
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            grades[query][document] = int(grade)
    found: dict[str, list[Question]] = defaultdict(list)
    for query in _records(folder / "queries.jsonl"):
        if query["id"] in grades:
            found[query.get("scope", "all")].append(
                Question(
                    id=query["id"],
                    text=query["text"],
                    kind=query.get("type", ""),
                    day=_day(query.get("date", "")),
                    grades=grades[query["id"]],
                )
            )
    return found


def _write(workspace: Path, documents: list[dict[str, str]]) -> dict[str, str]:
    """Write one file a document under neutral names, so that no label can be read from a path."""
    (workspace / "memory").mkdir(parents=True, exist_ok=True)
    paths = {}
    for number, document in enumerate(documents):
        path = f"memory/{number:05d}.md"
        paths[path] = document["id"]
        file = workspace / path
        head = document.get("title") or document.get("date") or ""
        title = f"# {head}\n\n".replace("\r", " ") if head else ""
        day = _day(document.get("date", ""))
        front = f"---\ndate: {day}\n---\n" if day else ""
        text = f"{front}{title}{document['text']}\n"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    return paths


def _records(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _day(text: str) -> date | None:
    """Return the day of `2023/04/10 (Mon) 17:50` or `1:56 pm on 8 May, 2023`."""
    if found := re.match(r"(\d{4})/(\d{2})/(\d{2})", text):
        return date(*map(int, found.groups()))
    if found := re.search(r"(\d{1,2}) ([A-Z][a-z]+),? (\d{4})", text):
        day, month, year = found.groups()
        return date(int(year), list(month_name).index(month), int(day))
    return None


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)
