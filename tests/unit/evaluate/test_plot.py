"""The picture: well-formed, sorted, honest about what did not run."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from recollect.errors import UsageError
from recollect.evaluate.cases import Case, Expected
from recollect.evaluate.metrics import MARKS, Interval
from recollect.evaluate.plot import check_plot, plot
from recollect.evaluate.run import Abstention, CaseAnswer, Outcome, Summary, Variant, VariantRun
from recollect.types import Mode

SVG = "{http://www.w3.org/2000/svg}"


def outcome(name: str, ndcg: float | None) -> Outcome:
    interval = Interval(ndcg or 0.0, (ndcg or 0.0) - 0.1, (ndcg or 0.0) + 0.1)
    overall = None if ndcg is None else Summary(12, dict.fromkeys(MARKS, interval))
    cases = [*(Case(f"q{number}", (Expected("a.md"),)) for number in range(12)), Case("gone", ())]
    answers = tuple(CaseAnswer(case, (), Mode.KEYWORD, False, (), None, None) for case in cases)
    return Outcome(
        VariantRun(Variant(name), answers), overall, {}, None, Abstention(None, None, None)
    )


def test_bars_are_sorted_and_as_long_as_their_means() -> None:
    root = ET.fromstring(plot([outcome("mine", 0.5), outcome("a < b & c", 0.75)]))  # noqa: S314

    texts = [text.text for text in root.iter(f"{SVG}text")]
    bars = [rect.get("width") for rect in root.iter(f"{SVG}rect")][1:]
    assert texts.index("a < b & c") < texts.index("mine")
    assert ["315.0", "210.0"] == bars  # 420 pixels are 1
    assert "0.75 [0.65, 0.85]" in texts
    assert any("13 cases, 1 of them without an answer." in (text or "") for text in texts)


def test_what_did_not_run_is_not_drawn_as_zero() -> None:
    drawn = plot([outcome("mine", 0.5), outcome("vector alone", None)])

    assert "vector alone" not in drawn


@pytest.mark.parametrize("name", ["out.png", "out", "out.svg.pdf"])
def test_another_format_is_refused_and_svg_named(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_plot(Path(name))

    assert ".svg" in caught.value.action


def test_svg_is_understood_in_capitals() -> None:
    check_plot(Path("OUT.SVG"))


def test_a_folder_that_is_not_there_is_named_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        check_plot(tmp_path / "gone" / "out.svg")

    assert str(tmp_path / "gone") in caught.value.message
    assert "--plot" in caught.value.action
    assert [] == list(tmp_path.iterdir())
