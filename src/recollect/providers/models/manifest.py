"""The known models and their files, each pinned by its SHA-256, wherever it comes from."""

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
    packaged: str
    """Path in the package `recollect_models`."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A model's files."""

    id: str
    licence: str | None
    """Licence; None for a user's own model."""
    files: tuple[ModelFile, ...]
    """Empty for a user's own model, whose files are not known."""


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


_VOCABULARY = ModelFile(
    name="vocab.txt",
    sha256="07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    size_bytes=231_508,
    packaged="vocab.txt",
)

EMBEDDER = EmbeddingManifest(
    id="recollect-embedder",
    licence="Apache-2.0",
    files=(
        ModelFile(
            name="model.onnx",
            sha256="86f1b67c99f3ab9cda5ad91b43fbf70c008c584ec33a506c14e153d370a00559",
            size_bytes=34_014_871,
            packaged="embedder/model.onnx",
        ),
        _VOCABULARY,
    ),
    dimensions=384,
    max_tokens=512,
    pooling="cls",
    reads_latin_only=True,
    # Without its query prefix the model finds half as much.
    query_prefix="Represent this sentence for searching relevant passages: ",
    document_prefix="",
    background=Background(mean=0.31, deviation=0.046),
    word_background=Background(mean=0.36, deviation=0.056),
)
"""Trained by training/embedder.py from snowflake-arctic-embed-s."""

MULTILINGUAL = EmbeddingManifest(
    id="recollect-multilingual",
    licence="MIT",
    files=(
        ModelFile(
            name="model.onnx",
            sha256="720a5ab106e52b199c7cbe2b5e38736d1e858418e2a6b3652aa8c32fc8f5d419",
            size_bytes=53_813_465,
            packaged="multilingual/model.onnx",
        ),
        ModelFile(
            name="pieces.txt",
            sha256="1d51a60607d6b45778c5bb889ea49ca05bceaccc2ffc9689f2227d977cf42390",
            size_bytes=2_689_671,
            packaged="multilingual/pieces.txt",
        ),
    ),
    dimensions=384,
    max_tokens=512,
    pooling="mean",
    reads_latin_only=False,
    query_prefix="query: ",
    document_prefix="passage: ",
    # Of questions that this model embeds: it is less sure of what is unrelated.
    background=Background(mean=0.22, deviation=0.09),
)
"""Trained by training/multilingual.py from multilingual-e5-small: a text has the vector that
EMBEDDER gives its translation into English, so both share a space."""

READER = Manifest(
    id="recollect-reader",
    licence="Apache-2.0",
    files=(
        ModelFile(
            name="model.onnx",
            sha256="e4ca612e80f36a2f126044ab2d17ee3f62e2cdc10453eb7818ae13fccd129541",
            size_bytes=26_871_059,
            packaged="reader/model.onnx",
        ),
        _VOCABULARY,
    ),
)
"""Trained by training/reader.py from ms-marco-MiniLM-L-12-v2."""

MODELS = (EMBEDDER, MULTILINGUAL, READER)
"""All of them."""
