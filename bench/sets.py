"""The labelled sets as real workspaces: one Markdown file a document, one workspace a scope.

Most sets lie outside the repository, in the folder named by RECOLLECT_BENCH_SETS; what is made of
them is kept under bench/.cache. Such a set is corpus.jsonl, queries.jsonl and qrels.tsv. Those in
bench/memories are the notes of a made-up person with the questions that they might ask. `held_out`
are the English memories of training/data that no model was trained on; `training-E-0+F-1` those
whose names begin with E-0 or F-1.
"""

from __future__ import annotations

import json
import os
import re
import sys
from calendar import month_name
from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

CACHE = Path(__file__).parent / ".cache"
# Taken out of the environment, where every RECOLLECT_… is a setting.
SETS = Path(os.environ.pop("RECOLLECT_BENCH_SETS", Path(__file__).parents[2] / "shared/datasets"))
MEMORIES = Path(__file__).parent / "memories"
INVENTED = Path(__file__).parents[1] / "training" / "data"
HELD_OUT, TRAINING = "held_out", "training-"
AUTHORED = ("company", "household")
"""Sets in bench/memories, each by an author who saw neither the ranking nor the other set."""
NAMES = (
    *AUTHORED,
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
    """Document id → grade; empty if the memory has no answer."""


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


@dataclass(frozen=True, slots=True)
class Limits:
    """The most of a set that is used: for a first look, and for machines with little time."""

    documents: int | None = None
    """Per workspace, besides those that answer a question."""
    questions: int | None = None
    """Of the whole set, evenly chosen."""


def load_set(name: str, limits: Limits = Limits()) -> list[Scoped]:  # noqa: B008 - frozen
    """Write the set's workspaces if they are not there, and return them with their questions."""
    if name in AUTHORED:
        return [_authored(name)]
    if name == HELD_OUT or name.startswith(TRAINING):
        files = _invented_files(name)
        most = None if limits.questions is None else limits.questions // len(files)
        return [_invented(file, name, most) for file in files]
    folder = SETS / name
    by_scope: dict[str, list[dict[str, str]]] = defaultdict(list)
    for document in _records(folder / "corpus.jsonl"):
        by_scope[document.get("scope", "all")].append(document)
    questions = _questions(folder, limits.questions)
    made = CACHE / "workspaces"
    if limits.documents is not None:
        made /= f"{limits.documents}-documents"
    return [
        Scoped(
            name=f"{name}/{scope}",
            workspace=(workspace := made / name / _safe(scope)),
            documents=_write(workspace, _limited(documents, questions[scope], limits.documents)),
            questions=questions[scope],
        )
        for scope, documents in by_scope.items()
        if questions[scope]
    ]


def _authored(name: str) -> Scoped:
    """Return a set of the repository; its files are searched where they are."""
    workspace = MEMORIES / name / "notes"
    paths = [str(file.relative_to(workspace)) for file in sorted(workspace.rglob("*.md"))]
    questions = [
        Question(
            id=str(number),
            text=str(case["query"]),
            kind=str(case["type"]),
            day=None,
            grades={place["path"]: 1 for place in case["expected"]},
        )
        for number, case in enumerate(_records(MEMORIES / name / "questions.jsonl"))
    ]
    return Scoped(name, workspace, {path: path for path in paths}, questions)


def _invented_files(name: str) -> list[Path]:
    """Return the files of the training memories that a name means."""
    sys.path.append(str(INVENTED.parents[1]))
    from training import memories  # noqa: PLC0415 - not installed

    held = tuple(each for each in memories.HELD_OUT if each[0] in memories.ENGLISH)
    first = held if name == HELD_OUT else tuple(name.removeprefix(TRAINING).split("+"))
    return [file for file in sorted(INVENTED.glob("*.jsonl")) if file.name.startswith(first)]


def _invented(file: Path, name: str, most: int | None) -> Scoped:
    """Write a training memory as notes; its questions are `absent` if they have no answer."""
    workspace = CACHE / "workspaces" / "training" / file.stem
    paths, questions = {}, []
    for number, entry in enumerate(_records(file)):
        if "note" in entry:
            path = Path(entry["path"]).with_suffix(".md")
            paths[str(path)] = entry["note"]
            (workspace / path).parent.mkdir(parents=True, exist_ok=True)
            (workspace / path).write_text(entry["text"], encoding="utf-8")
        else:
            grades = dict.fromkeys(entry["notes"], 1)
            questions.append(Question(str(number), entry["q"], entry["kind"], None, grades))
    asked = questions if most is None else _evenly(questions, most)
    return Scoped(f"{name}/{file.stem}", workspace, paths, asked)


def _limited(
    documents: list[dict[str, str]], questions: list[Question], most: int | None
) -> list[dict[str, str]]:
    """Return the documents that answer a question, and so many of the others, evenly chosen."""
    if most is None:
        return documents
    wanted = {name for question in questions for name in question.grades}
    others = [document["id"] for document in documents if document["id"] not in wanted]
    wanted.update(_evenly(others, most))
    return [document for document in documents if document["id"] in wanted]


def _evenly(items: list[Any], most: int) -> list[Any]:
    step = max(len(items) / most, 1.0) if most else len(items) + 1
    return [items[int(place * step)] for place in range(min(most, len(items)))]


def _questions(folder: Path, most: int | None) -> dict[str, list[Question]]:
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            grades[query][document] = int(grade)
    found: dict[str, list[Question]] = defaultdict(list)
    queries = [query for query in _records(folder / "queries.jsonl") if query["id"] in grades]
    for query in queries if most is None else _evenly(queries, most):
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


def _records(path: Path) -> list[dict[str, Any]]:
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
