"""Running a small BERT model with onnxruntime: the session and the input.

It knows no model by name and does not say what an output means.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

MOST_THREADS = 8


def threads() -> int:
    """Return how many inputs to run side by side on this machine."""
    return min(os.cpu_count() or 1, MOST_THREADS)


def open_session(model: Path) -> Any:  # noqa: ANN401 - onnxruntime has no types
    """Load a model; each run uses one thread, so that inputs can run side by side."""
    # Some builds of the runtime report usage to their maker unless told not to beforehand.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime  # noqa: PLC0415 - 90 ms that only a model's user should pay

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    # Spinning threads burn a shared machine's cores for nothing.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def bert_input(
    ids: list[int], *, second_from: int | None = None
) -> dict[str, npt.NDArray[np.int64]]:
    """Return one sequence as a model takes it; a pair's second text begins at `second_from`."""
    tokens = np.array([ids], dtype=np.int64)
    types = np.zeros_like(tokens)
    if second_from is not None:
        types[0, second_from:] = 1
    return {
        "input_ids": tokens,
        "attention_mask": np.ones_like(tokens),
        "token_type_ids": types,
    }
