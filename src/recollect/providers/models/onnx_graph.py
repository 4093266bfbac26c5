"""Writes an ONNX graph: the few parts of the format that a model made of stored weights needs.

The package `onnx` would bring three others, for what are nine kinds of records with numbered
fields. Field numbers are those of onnx.proto, which never change.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt

MICROSOFT = "com.microsoft"
"""The operators of onnxruntime itself."""
_IR_VERSION = 8
_VERSIONS = {"": 17, MICROSOFT: 1}
_FLOAT = 1
_TYPES = {"float32": _FLOAT, "uint8": 2}
_IS_FLOAT, _IS_INT = 1, 2  # kinds of attributes


class OnnxGraph:
    """A graph with one input and one output: a row of vectors, one per token."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []

    def constant(self, name: str, values: npt.NDArray[np.generic]) -> str:
        """Add weights; return their name."""
        dims = b"".join(_number(1, each) for each in values.shape)
        kind = _number(2, _TYPES[str(values.dtype)])
        self._constants.append(dims + kind + _text(8, name) + _bytes(9, values.tobytes()))
        return name

    def node(
        self,
        operator: str,
        inputs: list[str],
        output: str,
        *,
        domain: str = "",
        attributes: Mapping[str, float] | None = None,
    ) -> str:
        """Add an operation; return the name of its result."""
        written = b"".join(
            _bytes(5, _attribute(name, value)) for name, value in (attributes or {}).items()
        )
        names = b"".join(_text(1, each) for each in inputs) + _text(2, output)
        self._nodes.append(names + _text(4, operator) + written + _text(7, domain))
        return output

    def model(self, *, source: str, result: str, dimensions: int) -> bytes:
        """Return the model as onnxruntime loads it."""
        graph = b"".join(
            [
                *(_bytes(1, each) for each in self._nodes),
                _text(2, "model"),
                *(_bytes(5, each) for each in self._constants),
                _bytes(11, _value(source, dimensions)),
                _bytes(12, _value(result, dimensions)),
            ]
        )
        versions = b"".join(
            _bytes(8, _text(1, domain) + _number(2, version))
            for domain, version in _VERSIONS.items()
        )
        return _number(1, _IR_VERSION) + _bytes(7, graph) + versions


def _attribute(name: str, value: float) -> bytes:
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, _IS_INT)
    return _text(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, _IS_FLOAT)


def _value(name: str, dimensions: int) -> bytes:
    """Return the description of one text's tokens: 1, any number, dimensions."""
    dims = (_number(1, 1), _text(2, "tokens"), _number(1, dimensions))
    shape = b"".join(_bytes(1, each) for each in dims)
    tensor = _number(1, _FLOAT) + _bytes(2, shape)
    return _text(1, name) + _bytes(2, _bytes(1, tensor))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    """Return a number in seven bits per byte, lowest first; the high bit says that more follow."""
    found = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - what seven bits hold
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
