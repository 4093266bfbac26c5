"""Measure what plain grep finds on the two sets of the repository: `python bench/grep.py`.

grep looks for every word of a question that has at least four letters, in any case. It does not
rank, so the files are ordered here: by how many of the words they have, then by how often.
"""

from __future__ import annotations

import re
import resource
import shutil
import statistics
import subprocess
from typing import TYPE_CHECKING

from run import marks
from sets import AUTHORED, Limits, load_set

if TYPE_CHECKING:
    from sets import Question, Scoped

_WORD = re.compile(r"\w{4,}")


def found_by_grep(question: Question, scoped: Scoped) -> list[str]:
    """Return the documents with words of a question, those with most of them first."""
    words = sorted(set(_WORD.findall(question.text))) or [question.text]
    pattern = "|".join(map(re.escape, words))
    grep = shutil.which("grep") or "/bin/grep"
    done = subprocess.run(  # noqa: S603 - of a set of the repository
        [grep, "-rioE", "--include=*.md", "-e", pattern, "."],
        cwd=scoped.workspace,
        capture_output=True,
        text=True,
        check=False,
    )
    matched: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        path, _, word = line.partition(":")
        matched.setdefault(path.removeprefix("./"), []).append(word.lower())
    ranked = sorted(matched, key=lambda path: (-len(set(matched[path])), -len(matched[path]), path))
    known = (scoped.documents[path] for path in ranked if path in scoped.documents)
    return list(dict.fromkeys(known))


def main() -> None:
    """Print nDCG@10 in points and the CPU time of a question, for each set."""
    for name in AUTHORED:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = [
            marks(question, found_by_grep(question, scoped)).ndcg
            for scoped in load_set(name, Limits())
            for question in scoped.questions
            if question.grades
        ]
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        score = 100 * statistics.mean(found)
        print(f"{name}: nDCG@10 {score:.1f}, {1000 * spent / len(found):.1f} ms of CPU a question")


if __name__ == "__main__":
    main()
