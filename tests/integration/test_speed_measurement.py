"""The measurement of speed itself: what it generates, and a whole run of it on a small corpus."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*arguments: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert 0 == done.returncode, done.stderr
    return done.stdout


def test_a_corpus_is_decided_by_its_size_and_seed() -> None:
    first, other, smaller = run("bench.speed.corpus", "120:1", "120:2", "110:1").split()

    assert 3 == len({first, other, smaller})
    assert [first] == run("bench.speed.corpus", "120:1").split()


def test_a_run_measures_recollect_and_a_peer_on_the_same_chunks(tmp_path: Path) -> None:
    out = tmp_path / "results.json"
    # The sections are ten a document, so there are 20 files and a few of facts.
    run(
        "bench.speed", "200", "--peers", "fts5", "--cache", tmp_path / "data", "--out", out,
        "--peers-folder", tmp_path / "none",
        "--questions", "3", "--passes", "1", "--seconds", "0.1", "--changes", "1", "--repeats", "1",
        "--steps", "cold", "warm", "change",
        "--asks", "keyword", "vector", "hybrid", "scopes",
    )  # fmt: skip
    own, peer = json.loads(out.read_text(encoding="utf-8"))["runs"]

    assert ("recollect", "fts5") == (own["engine"], peer["engine"])
    for each in (own, peer):
        assert "failed" not in each
        assert each["build"]["bytes"] > 200 * 384 * 4
        assert 10 == each["cold"]["found"]
        for name in ("keyword", "vector", "hybrid"):
            asked = each["warm"]["asks"][name]
            assert (3, 1) == (asked["runs"], asked["right"])
        assert each["change"]["update"]["runs"] == each["change"]["remove"]["runs"] == 1
    assert own["warm"]["parts"].keys() == {"keyword", "nearest", "load", "rest"}
    assert 20 == own["change"]["no-op"]["files"]
    assert all(isinstance(cost, float) for cost in own["commands"].values())
    assert "knows no" in peer["warm"]["asks"]["scopes"]["unsupported"]
