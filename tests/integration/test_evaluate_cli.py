"""`eval` as a user calls them: real processes on a copy of the sample workspace."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.commands import recollect_command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Cli = Callable[..., subprocess.CompletedProcess[str]]

CASES = Path(__file__).parent.parent / "golden" / "cases"
WIDEST = 100


@pytest.fixture
def hybrid(embedded_sample: Path, environ: dict[str, str]) -> Cli:
    def run(*arguments: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*recollect_command(), *arguments],
            cwd=embedded_sample,
            env={**environ, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )

    return run


@pytest.fixture
def keyword(hybrid: Cli, environ: dict[str, str]) -> Cli:
    environ["RECOLLECT_PROVIDER"] = "none"
    return hybrid


def as_json(done: subprocess.CompletedProcess[str]) -> Any:
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout)


def write_cases(file: Path, *cases: Mapping[str, object]) -> Path:
    file.write_text("".join(f"{json.dumps(case)}\n" for case in cases), encoding="utf-8")
    return file


def test_eval_prints_one_row_a_kind_with_intervals(keyword: Cli) -> None:
    done = keyword("eval", CASES / "identifiers.jsonl")

    assert 0 == done.returncode
    head, identifier, filename, every = done.stdout.splitlines()[2:6]
    assert ["calibrated", "cases", "hit@6", "recall@6", "all@6"] == head.split()[:5]
    assert ["MRR@10", "nDCG@10"] == head.split()[5:]
    assert ["identifier", "32", "1.00", "[1.0", "1.0]"] == identifier.split()[:5]
    assert ["filename", "7"] == filename.split()[:2]
    assert ["all", "39"] == every.split()[:2]


def test_eval_names_the_questions_that_were_missed(keyword: Cli) -> None:
    done = keyword("eval", CASES / "phrasings.jsonl", "-k", "1")

    assert "Not among the first 1 hits:" in done.stdout
    assert "line 2: what to do when a task seems impossible → memory/protocols/" in done.stdout
    assert "; first came memory/" in done.stdout


@pytest.mark.parametrize("arguments", [("--compare",), ("-k", "3")])
def test_options_may_stand_before_the_cases(keyword: Cli, arguments: tuple[str, ...]) -> None:
    done = keyword("eval", *arguments, CASES / "identifiers.jsonl")

    assert 0 == done.returncode
    assert ("hit@3" if "3" in arguments else "hit@6") in done.stdout


def test_eval_json_holds_every_case(keyword: Cli) -> None:
    answer = as_json(keyword("eval", CASES / "phrasings.jsonl", "--json"))

    members = {"cases", "workspace", "count", "k", "configured", "variants", "warnings"}
    assert members == answer.keys()
    (variant,) = answer["variants"]
    assert (57, 6, "calibrated") == (answer["count"], answer["k"], variant["name"])
    assert 57 == variant["withoutVector"] == len(variant["perCase"])
    first = variant["perCase"][0]
    assert ([1], 1.0) == (first["ranks"], first["marks"]["ndcg"])
    assert first["hits"][0].startswith("memory/protocols/persistence.md#L")
    per_case = [case["marks"]["ndcg"] for case in variant["perCase"]]
    assert sum(per_case) / 57 == pytest.approx(variant["overall"]["ndcg"]["mean"], abs=1e-4)


def test_a_leg_that_did_not_run_is_said_and_not_marked_zero(keyword: Cli) -> None:
    done = keyword("eval", CASES / "identifiers.jsonl", "--compare")

    assert "The vector leg did not run for 39 of 39 cases." in done.stderr
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("vector alone")]
    assert "vector alone did not run" == " ".join(row.split())


def test_places_that_are_not_there_are_warned_of(keyword: Cli, tmp_path: Path) -> None:
    cases = write_cases(
        tmp_path / "cases.jsonl",
        {"query": "persistence", "expected": ["memory/protocols/persistence.md:1-9999"]},
        {"query": "persistence", "expected": ["memory/gone.md"]},
    )

    done = keyword("eval", cases)

    assert 0 == done.returncode
    assert f"{cases}:1: memory/protocols/persistence.md#L1-L9999 ends after" in done.stderr
    assert f"{cases}:2: memory/gone.md is not an indexed file" in done.stderr
    assert f"  → Correct them in {cases}" in done.stderr


def test_a_wrong_line_ends_the_run_with_its_place(keyword: Cli, tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"query": "a", "expected": []}\n{"query": 3}\n', encoding="utf-8")

    done = keyword("eval", cases, "--json")

    assert 2 == done.returncode
    error = json.loads(done.stdout)["error"]
    assert "usage" == error["type"]
    assert error["message"].startswith(f"{cases}:2: ")


def test_a_case_may_narrow_its_search(keyword: Cli, tmp_path: Path) -> None:
    scoped = {"query": "backups", "expected": [], "path": "memory/ja/*", "since": "2031-01-01"}
    cases = write_cases(tmp_path / "cases.jsonl", scoped)

    answer = as_json(keyword("eval", cases, "--json"))

    assert [] == answer["variants"][0]["perCase"][0]["hits"]
    assert answer["variants"][0]["overall"] is None
    assert 1.0 == answer["variants"][0]["abstention"]["unconfidentAbsent"]["mean"]


def test_eval_says_how_little_few_cases_tell(keyword: Cli, tmp_path: Path) -> None:
    answer = {"query": "persistence", "expected": ["memory/protocols/persistence.md"]}
    one = write_cases(tmp_path / "one.jsonl", answer)
    three = write_cases(
        tmp_path / "three.jsonl",
        answer,
        {**answer, "query": "persist"},
        {"query": "licence plate", "expected": []},
    )

    first, second = keyword("eval", one), keyword("eval", three)
    many = keyword("eval", CASES / "identifiers.jsonl")

    assert first.stdout.startswith(f"1 case, from {one}")
    assert second.stdout.startswith(f"3 cases, 1 of them without an answer, from {three}")
    assert (
        "Fewer than 20 questions have an answer: treat the intervals with caution." in first.stdout
    )
    assert "claim too much" not in many.stdout


def test_the_help_of_eval_names_its_options(keyword: Cli) -> None:
    done = keyword("eval", "--help")

    assert all(option in done.stdout for option in ("--compare", "-k,", "--json"))


def test_compare_with_the_real_model_shows_every_way_of_searching(
    hybrid: Cli, tmp_path: Path
) -> None:
    cases = tmp_path / "cases.jsonl"
    lines = [(CASES / f"{name}.jsonl").read_bytes() for name in ("phrasings", "absent")]
    cases.write_bytes(b"".join(b"".join(lines).splitlines(keepends=True)[::2]))  # enough to differ

    table = hybrid("eval", cases, "--compare")
    answer = as_json(hybrid("eval", cases, "--compare", "--json"))

    by_name = {variant["name"]: variant for variant in answer["variants"]}
    assert ["calibrated", "weighted", "rrf", "keyword alone", "vector alone"] == list(by_name)
    means = {name: variant["overall"]["ndcg"]["mean"] for name, variant in by_name.items()}
    assert means["calibrated"] > means["keyword alone"]
    assert by_name["keyword alone"]["gain"]["high"] < 0
    assert by_name["calibrated"]["gain"] is None
    assert by_name["calibrated"]["abstention"]["auroc"] > 0.5
    assert max(map(len, table.stdout.splitlines()[1:])) <= WIDEST
    rows = [line for line in table.stdout.splitlines() if " [." in line][:5]
    assert sorted(means, key=lambda name: -means[name]) == [
        row.split("  ")[0].removesuffix(" *") for row in rows
    ]
