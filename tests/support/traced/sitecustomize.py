"""Loaded by a new interpreter that has this folder in PYTHONPATH: records what it opens."""

import importlib.util
import os
from pathlib import Path

if report := os.environ.get("RECOLLECT_TEST_TRACE"):
    spec = importlib.util.spec_from_file_location(
        "tracing", Path(__file__).parent.parent / "tracing.py"
    )
    assert spec is not None
    assert spec.loader is not None
    tracing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tracing)
    tracing.start(report)
