"""A short run of `make fuzz`: whatever is read, only documented errors come out."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from tests.support.fuzz_targets import TARGETS
from tests.support.fuzzing import random_inputs

CASES = Path(__file__).parent.parent / "fixtures" / "fuzz"
INPUTS = 1  # for each share of a target: some 3,000 in all; `make fuzz` has millions
LEAST_INPUTS = 40


@pytest.mark.parametrize("name", TARGETS)
def test_only_documented_errors_come_out(name: str) -> None:
    target = TARGETS[name]
    kept = [file.read_bytes() for file in sorted((CASES / name).glob("*.bin"))]
    count = max(LEAST_INPUTS, INPUTS * target.share)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for content in (*kept, *random_inputs(0, kept, count)):
            target.feed(content)
