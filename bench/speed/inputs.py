"""The inputs of a run in the user's folder: files, vectors and indexes are made once and kept."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np
from bench.speed.corpus import Corpus
from bench.speed.engines.base import Place
from bench.speed.meter import ROOT, run

if TYPE_CHECKING:
    from pathlib import Path

    from bench.speed.corpus import Shape

_QUESTIONS = 100
_STORES = ("stores", "ingest", "text", "types.py")
"""What of Recollect decides an index: another version of it needs another index."""


def task(name: str, engine: str, place: Place, **more: object) -> dict[str, object]:
    """Return what a measured process reads."""
    return {
        "task": name,
        "engine": engine,
        "shape": asdict(place.shape),
        "workspace": str(place.workspace),
        "vectors": str(place.vectors),
        "questions": str(place.questions),
        "folder": str(place.folder),
        **more,
    }


def place_of(shape: Shape, cache: Path, *, label: str) -> Place:
    """Return where an engine finds its inputs, making them if they are not there."""
    folder = cache / f"{shape.name}-{shape.dimensions}" / label
    place = Place(
        shape,
        workspace=cache / "workspaces" / shape.name,
        vectors=cache / f"vectors-{shape.name}-{shape.dimensions}.f32",
        questions=cache / f"questions-{shape.name}-{shape.dimensions}.json",
        folder=folder,
    )
    corpus = Corpus(shape)
    if not place.vectors.exists():
        cache.mkdir(parents=True, exist_ok=True)
        part = place.vectors.with_suffix(".part")
        corpus.write_vectors(part)
        part.rename(place.vectors)
    if not place.questions.exists():
        _write_questions(corpus, place)
    if not place.workspace.exists():
        _write_workspace(corpus, place)
    return place


def _write_questions(corpus: Corpus, place: Place) -> None:
    shape = corpus.shape
    vectors = np.memmap(place.vectors, np.float32, "r", shape=(shape.chunks, shape.dimensions))
    questions = corpus.questions(_QUESTIONS)
    asked = corpus.question_vectors(questions, vectors)
    rows = [
        {"question": asdict(question), "vector": vector.tolist()}
        for question, vector in zip(questions, asked, strict=True)
    ]
    place.questions.write_text(json.dumps(rows), encoding="utf-8")


def _write_workspace(corpus: Corpus, place: Place) -> None:
    part = place.workspace.with_name(f"{place.workspace.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    known: set[Path] = set()
    for document in corpus.documents():
        file = part / document.path
        if file.parent not in known:
            file.parent.mkdir(parents=True, exist_ok=True)
            known.add(file.parent)
        file.write_text(document.markdown, encoding="utf-8")
    home = part.with_suffix(".home")
    unfinished = replace(place, workspace=part, folder=home)
    run(sys.executable, task("facts", "recollect", unfinished))
    shutil.rmtree(home, ignore_errors=True)
    part.rename(place.workspace)


def version_of(source: Path | None) -> str:
    """Return an identity of what decides an index of Recollect."""
    package = (source or ROOT / "src") / "recollect"
    seen = hashlib.sha256()
    for name in _STORES:
        top = package / name
        for file in sorted(top.rglob("*.py")) if top.is_dir() else [top]:
            seen.update(file.read_bytes())
    return seen.hexdigest()[:12]
