"""Measure questions in one language about texts in another, in memories that hold both.

usage: python bench/across.py [MEMORY …]

`zh-es`: of the parallel passages of XQuAD every second one is in Chinese, the others in Spanish,
and the same hundred questions are asked in both. `zh-es-tenth`: all passages are in Spanish, and
30 unrelated ones in Chinese are a tenth of the memory. `ru-es` and `ru-es-tenth`: the same with
Russian.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).parent
os.environ["RECOLLECT_HOME"] = str(HERE / ".cache" / "home")

from sets import CACHE, Limits, load_set  # noqa: E402 - the home must be set before anything is opened

from recollect import Memory  # noqa: E402
from recollect.evaluate.cases import Expected  # noqa: E402
from recollect.evaluate.metrics import marks_of  # noqa: E402

if TYPE_CHECKING:
    from sets import Scoped

MEMORIES = ("zh-es", "ru-es", "zh-es-tenth", "ru-es-tenth")
QUESTIONS = 100
UNRELATED = {"zh": "zh_cmrc2018", "ru": "xquad_ru"}
"""Texts that none of the questions is about; the Russian ones belong to other passages."""
TENTH = 30
SHOWN = 40


def passages(scoped: Scoped) -> dict[str, str]:
    """Return the texts of a set by document."""
    return {
        name: (scoped.workspace / path).read_text(encoding="utf-8")
        for path, name in scoped.documents.items()
    }


def make(memory: str) -> tuple[Path, dict[str, str], dict[str, Scoped]]:
    """Write a workspace; return it, the language of each document, and the questions."""
    first, second, *rest = memory.split("-")
    sets = {
        each: load_set(f"xquad_{each}", Limits(questions=QUESTIONS))[0] for each in (first, second)
    }
    texts = {each: passages(scoped) for each, scoped in sets.items()}
    names = list(texts[second])
    asked = {name for question in sets[second].questions for name in question.grades}
    spoken = {name: second if rest or number % 2 else first for number, name in enumerate(names)}
    workspace = CACHE / "workspaces" / "across" / memory
    shutil.rmtree(workspace, ignore_errors=True)
    (workspace / "memory").mkdir(parents=True)
    for name, language in spoken.items():
        (workspace / "memory" / f"{name}.md").write_text(texts[language][name], encoding="utf-8")
    if rest:
        unrelated = passages(load_set(UNRELATED[first], Limits(questions=QUESTIONS))[0])
        others = [text for name, text in unrelated.items() if first == "zh" or name not in asked]
        for number, text in enumerate(others[:TENTH]):
            (workspace / "memory" / f"other-{number}.md").write_text(text, encoding="utf-8")
    return workspace, spoken, sets


def measure(name: str) -> None:
    """Print nDCG@10 for each language of a question and of its text."""
    workspace, spoken, sets = make(name)
    with Memory.open(workspace) as memory:
        started = time.process_time()
        report = memory.sync()
        cpu_seconds = time.process_time() - started
        print(
            f"{name}: {report.chunks} chunks, {report.reused} from the cache, {cpu_seconds:.0f} s"
        )
        for language, scoped in sets.items():
            marks: dict[str, list[float]] = {}
            shown: dict[str, list[bool]] = {}
            for question in scoped.questions:
                [(wanted, grade)] = question.grades.items()
                hits = memory.search(question.text, max_results=SHOWN, tail=True, sync=False)
                found = list(dict.fromkeys(Path(hit.path).stem for hit in hits.hits))
                rank = found.index(wanted) + 1 if wanted in found else None
                mark = marks_of([Expected(wanted, grade=grade)], [rank], k=5)
                marks.setdefault(spoken[wanted], []).append(mark.ndcg)
                shown.setdefault(spoken[wanted], []).append(hits.confident)
            for other, collected in marks.items():
                mean = 100 * sum(collected) / len(collected)
                sure = 100 * sum(shown[other]) / len(collected)
                told = f"{len(collected)} questions, confident {sure:.0f} %"
                print(f"  {language} → {other}: {mean:.1f} ({told})", flush=True)


if __name__ == "__main__":
    for each in sys.argv[1:] or MEMORIES:
        measure(each)
