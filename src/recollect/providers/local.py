"""The default provider: small models on this machine's CPU, through onnxruntime.

Two models share one space: one for texts in English, the other one, loaded when needed, for the
rest. Each text is run alone, in parallel threads: int8 activations are scaled per batch, so a
vector would depend on its neighbours (docs/decisions/vectors.md).
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.errors import ModelUnavailableError, ProviderSetupError
from recollect.providers.base import EmbeddedQuestion, Limits, QuestionWords
from recollect.providers.gguf import SUFFIX, open_gguf
from recollect.providers.models.bert import (
    WordPiece,
    bert_input,
    open_session,
    thread_count,
    token_output,
)
from recollect.providers.models.files import changed_files, models_folder, read_model
from recollect.providers.models.manifest import EMBEDDER, MODELS, MULTILINGUAL, EmbeddingManifest
from recollect.providers.models.onnx_folder import describe, is_own, weights_in
from recollect.providers.models.unigram import Unigram
from recollect.records import dataclass
from recollect.text.language import is_english
from recollect.text.scripts import latin_share
from recollect.text.terms import query_terms
from recollect.types import Fingerprint, Role

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from recollect.providers.base import Provider
    from recollect.providers.options import ProviderOptions
    from recollect.types import Vector, Vectors

_TEXTS = 32  # the most that is lost if the process is killed
_MOST_WINDOWS = 8  # model inputs per text, about 4,000 words; the rest is cut
_MOST_CODES = 512  # per text: 24 KB


class LocalProvider:
    """Embeds with ONNX models of the BERT family; loads each on first use."""

    def __init__(
        self,
        manifest: EmbeddingManifest,
        *,
        folder: Path | None,
        others: EmbeddingManifest | None = None,
    ) -> None:
        """Store the models: `others`, if given, reads what is not in English.

        A `folder` of None is the installed package.
        """
        self.background, self.word_background = manifest.background, manifest.word_background
        self.limits = Limits(texts=_TEXTS)  # the texts of a request already run in parallel
        self._manifest = manifest
        self._first = _Model(manifest, folder)
        self._second = _Model(others, None) if others else None

    @property
    def fingerprint(self) -> Fingerprint:
        known = self._manifest
        models = (self._first, self._second) if self._second else (self._first,)
        identity = "-".join(each.manifest.identity for each in models)
        return Fingerprint("local", known.id, known.dimensions, identity)

    def reads(self, text: str) -> float:
        share = latin_share(text) if self._manifest.reads_latin_only else 1.0
        return share if share == 1.0 or self._model_of(text) is self._first else 1.0

    def prepare(self) -> None:
        self._first.prepare()

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        return self._stacked([each.vector for each in self._read_all(texts, role=role)])

    def embed_worded(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        read = self._read_all(texts, role=Role.DOCUMENT)
        return self._stacked([each.vector for each in read]), [each.codes() for each in read]

    def embed_question(self, text: str) -> EmbeddedQuestion:
        [read] = self._read_all([text], role=Role.QUERY)
        background = self._model_of(text).manifest.background
        return EmbeddedQuestion(read.vector, read.question(), background)

    def close(self) -> None:
        self._first.close()
        if self._second is not None:
            self._second.close()

    def _stacked(self, vectors: list[Vector]) -> Vectors:
        if not vectors:
            return np.zeros((0, self._manifest.dimensions or 0), dtype=np.float32)
        return np.stack(vectors)

    def _model_of(self, text: str) -> _Model:
        return self._first if self._second is None or is_english(text) else self._second

    def _read_all(self, texts: Sequence[str], *, role: Role) -> list[_Read]:
        if len(texts) <= 1:
            return [self._model_of(text).read(text, role=role) for text in texts]
        with ThreadPoolExecutor(thread_count()) as pool:
            return list(pool.map(lambda text: self._model_of(text).read(text, role=role), texts))


class _Model:
    """One model, loaded on first use."""

    def __init__(self, manifest: EmbeddingManifest, folder: Path | None) -> None:
        self.manifest = manifest
        self._folder = folder
        self._files: Mapping[str, bytes] | None = None
        self._loaded: _LoadedModel | None = None
        self._loading = threading.RLock()

    def prepare(self) -> None:
        with self._loading:  # threads that come at once share one model
            if self._loaded is None and self._files is None:
                self._files = read_model(self.manifest, self._folder)

    def close(self) -> None:
        self._loaded = None

    def _load(self) -> _LoadedModel:
        with self._loading:
            self.prepare()
            if self._loaded is None:
                assert self._files is not None  # noqa: S101 - prepare either sets it or raises
                folder = self._folder or models_folder()
                self._loaded = _open_model(folder, self._files, self.manifest)
                self._files = None
            return self._loaded

    def read(self, text: str, *, role: Role) -> _Read:
        """Return what the model makes of a text."""
        model, manifest = self._load(), self.manifest
        prefix = manifest.query_prefix if role is Role.QUERY else manifest.document_prefix
        # A prefix from a model folder must leave room for the text.
        lead = model.words.ids(prefix.rstrip())[: manifest.max_tokens // 2] if prefix else []
        words = model.words.words(text)
        body = [number for _, ids in words for number in ids]
        room = manifest.max_tokens - 2 - len(lead)
        windows = [body[at : at + room] for at in range(0, max(len(body), 1), room)]
        windows = windows[:_MOST_WINDOWS]
        runs = [
            model.run([model.words.start_id, *lead, *window, model.words.end_id])
            for window in windows
        ]
        is_first = manifest.pooling == "cls"
        vectors = [_unit(tokens[0] if is_first else tokens.mean(axis=0)) for tokens in runs]
        # Weighted by length: a last window of three words must not count as much as a full one.
        weights = [max(len(window), 1) for window in windows]
        return _Read(
            vector=_unit(np.average(vectors, axis=0, weights=weights)),
            ids=body,
            words=[word for word, ids in words for _ in ids],
            tokens=np.concatenate([tokens[1 + len(lead) : -1] for tokens in runs]),
            has_codes=manifest.word_background is not None,
        )


@dataclass(frozen=True, slots=True)
class _Read:
    """A text as the model has read it."""

    vector: Vector
    ids: list[int]
    words: list[str]
    """The word that each id is a piece of."""
    tokens: npt.NDArray[np.float32]
    """One state per id, of those that fit into the model."""
    has_codes: bool
    """Whether the states of words can be compared; the other model's are in no common space."""

    def question(self) -> QuestionWords | None:
        """Return its words with their states."""
        if not self.has_codes:
            return None
        states = self.tokens / np.linalg.norm(self.tokens, axis=1, keepdims=True)
        return QuestionWords(tuple(self.words[: len(states)]), states)

    def codes(self) -> bytes:
        """Return one bit per dimension for each informative piece of a word.

        Equal pieces share one, the signs of the sum of their states.
        """
        if not self.has_codes:
            return b""
        words = self.words[: len(self.tokens)]
        telling = [place for place, word in enumerate(words) if _is_telling(word)]
        places = np.array(telling or range(len(words)), dtype=np.intp)
        if not len(places):
            return np.packbits(self.vector > 0).tobytes()
        ids = np.array(self.ids)[places]
        order = np.argsort(ids, kind="stable")
        states = self.tokens[places[order]]
        states = states / np.linalg.norm(states, axis=1, keepdims=True)
        starts = np.flatnonzero(np.diff(ids[order], prepend=-1))
        sums = np.add.reduceat(states, starts, axis=0)[:_MOST_CODES]
        return np.packbits(sums > 0, axis=1).tobytes()


@lru_cache(maxsize=1 << 16)
def _is_telling(word: str) -> bool:
    """Return whether a word is neither a function word nor punctuation."""
    found = query_terms(word)
    return not found.stop.issuperset(found.terms)


@dataclass(frozen=True, slots=True)
class _LoadedModel:
    """A loaded model with its inputs and output."""

    path: Path
    session: Any
    words: WordPiece | Unigram
    inputs: frozenset[str]
    output: str

    def run(self, ids: list[int]) -> npt.NDArray[np.float32]:
        """Return one vector per token."""
        given = {name: array for name, array in bert_input(ids).items() if name in self.inputs}
        try:
            found: npt.NDArray[np.float32] = self.session.run([self.output], given)[0][0]
        except Exception as error:  # onnxruntime's errors have no common class
            raise _unusable(self.path, f"onnxruntime fails on {len(ids)} tokens") from error
        return found


def _open_model(
    folder: Path, files: Mapping[str, bytes], manifest: EmbeddingManifest
) -> _LoadedModel:
    """Open a model; the files of a user's own, whose weights may be in several, are not given."""
    path, dimensions = weights_in(folder), manifest.dimensions
    try:
        session = open_session(files.get("model.onnx") or path)
    except Exception as error:  # onnxruntime's errors have no common class
        raise _unusable(path, "onnxruntime cannot load it") from error
    inputs = frozenset(each.name for each in session.get_inputs())
    unknown = inputs.difference(bert_input([0]))
    if unknown:
        raise _unusable(path, f"it needs the unknown input {', '.join(sorted(unknown))}")
    shapes = {each.name: each.shape for each in session.get_outputs()}
    output = token_output(session)
    if output is None:
        raise _unusable(path, "none of its outputs has one vector per token")
    found = shapes[output][-1]
    if isinstance(found, int) and dimensions not in (None, found):
        raise _unusable(path, f"it gives {found} dimensions, not {dimensions}")
    words: WordPiece | Unigram
    if pieces := files.get("pieces.txt"):
        words = Unigram.from_bytes(pieces)
    else:
        words = WordPiece.from_bytes(files.get("vocab.txt") or (folder / "vocab.txt").read_bytes())
    return _LoadedModel(path, session, words, inputs, output)


def _unusable(path: Path, reason: str) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"The model {path} cannot be used: {reason}.",
        action="Set local.model_path to an ONNX export of a BERT embedding model for the task "
        "feature-extraction, or remove the setting.",
    )


def _unit(vector: npt.NDArray[np.floating[Any]]) -> Vector:
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def open_local(options: ProviderOptions) -> Provider:
    """Return the provider of the default models or of the user's own; nothing is loaded yet."""
    path = options.model_path.expanduser() if options.model_path else None
    if path is not None and path.suffix.lower() == SUFFIX:
        return open_gguf(path)
    if path is not None and is_own(path):
        return LocalProvider(describe(path), folder=path)
    if options.model not in (None, EMBEDDER.id):
        raise ProviderSetupError(
            f"There is no local model named {options.model}.",
            action="Leave `model` unset; local.model_path takes a GGUF file or an ONNX folder.",
        )
    return LocalProvider(EMBEDDER, folder=path, others=MULTILINGUAL)


def changed_models(options: ProviderOptions) -> Iterator[ModelUnavailableError]:
    """Hash every model file, whoever uses it; yield which are missing or were changed."""
    for manifest in MODELS:
        yield from changed_files(manifest, None)
    path = options.model_path.expanduser() if options.model_path else None
    if path is not None and path.suffix.lower() != SUFFIX and not is_own(path):
        yield from changed_files(EMBEDDER, path)
