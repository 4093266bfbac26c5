"""Runs a reranker of sentence-transformers: an ONNX file that ends at the states of the tokens.

The layers that make one number of the first state are in three small files: a square matrix with
GELU, a normalisation, and a row with a bias. They are computed here.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import ModelUnavailableError
from recollect.providers.models.bert import bert_input, open_session, token_output
from recollect.providers.models.manifest import HEAD_FILES, TOKENIZER
from recollect.providers.models.tokenizer_json import JsonTokenizer

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

_EPSILON = 1e-5  # of the normalisation
_HEADER_AT = 8  # after its own length


class EttinModel:
    """A loaded reranker."""

    def __init__(self, folder: Path) -> None:
        """Load the files of a folder.

        Raises:
            ModelUnavailableError: they cannot be used.
            ProviderSetupError: the package `tokenizers` is not installed.

        """
        self._folder = folder
        self.words = JsonTokenizer(folder / TOKENIZER)
        dense, norm, score = HEAD_FILES
        try:
            self._dense = _tensor(folder / dense, "linear.weight")
            self._scale = _tensor(folder / norm, "norm.weight")
            self._shift = _tensor(folder / norm, "norm.bias")
            self._score = _tensor(folder / score, "linear.weight")
            self._bias = _tensor(folder / score, "linear.bias")
            self._session = open_session(folder / "model.onnx")
        except Exception as error:  # onnxruntime's errors have no common class
            raise self._unusable(str(error)) from error
        self._inputs = frozenset(each.name for each in self._session.get_inputs())
        output = token_output(self._session)
        if output is None:
            raise self._unusable("none of its outputs has one vector per token")
        self._output = output

    def logit(self, pair: list[int], *, second_from: int) -> float:
        """Return the model's opinion of a question and a passage."""
        del second_from  # it was trained without token types
        given = {name: value for name, value in bert_input(pair).items() if name in self._inputs}
        try:
            state = self._session.run([self._output], given)[0][0, 0]
            hidden = _gelu(self._dense @ state)
            spread = np.sqrt(hidden.var() + _EPSILON)
            normal = (hidden - hidden.mean()) / spread * self._scale + self._shift
            return float((self._score @ normal + self._bias)[0])
        except Exception as error:  # onnxruntime's errors have no common class
            raise self._unusable(f"it fails on {len(pair)} tokens") from error

    def _unusable(self, reason: str) -> ModelUnavailableError:
        return ModelUnavailableError(
            f"The rerank model in {self._folder} cannot be used: {reason}.",
            action="Choose another one by `rerank.model`.",
        )


def _gelu(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    below = np.array([math.erf(value / math.sqrt(2.0)) for value in values.tolist()])
    return 0.5 * values * (1.0 + below)


def _tensor(path: Path, name: str) -> npt.NDArray[np.float32]:
    """Read an array of a safetensors file: length of the header, header, numbers."""
    content = path.read_bytes()
    numbers_at = _HEADER_AT + int.from_bytes(content[:_HEADER_AT], "little")
    described = json.loads(content[_HEADER_AT:numbers_at])[name]
    if described["dtype"] != "F32":
        raise ValueError(f"{name} in {path.name} is not float32")
    start, end = (numbers_at + at for at in described["data_offsets"])
    return np.frombuffer(content[start:end], dtype="<f4").reshape(described["shape"])
