"""Which files are media, what stands for them, and what is embedded of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.vendors.media import FRAME, JPEG, mp3, padded, png, wav

from recollect.ingest.chunk import chunk
from recollect.ingest.embed import RequestPacker, base64_bytes
from recollect.ingest.folders import Found
from recollect.ingest.media import (
    MOST_BYTES,
    format_of,
    label_of,
    load_media,
    modality_of,
    read_media,
)
from recollect.ingest.options import ChunkOptions
from recollect.ingest.read import UnreadableError
from recollect.providers.base import EmbedsMedia, Limits
from recollect.providers.gemini import EMBEDDINGS, open_gemini
from recollect.providers.options import MEDIA_MODELS, ProviderOptions
from recollect.stores.base import Missing
from recollect.types import SourceKind, Stat, digest_of

if TYPE_CHECKING:
    from pathlib import Path

LATER_NS = 10**19


def found(folder: Path, name: str, content: bytes) -> Found:
    file = folder / name
    file.write_bytes(content)
    stat = file.stat()
    return Found(
        name,
        file,
        folder,
        Stat(stat.st_size, stat.st_mtime_ns),
        SourceKind.MEMORY,
        modality_of(name),
    )


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("assets/diagram.png", "Image file: diagram.png"),
        ("a/b/Photo.JPG", "Image file: Photo.JPG"),
        ("x.jpeg", "Image file: x.jpeg"),
        ("../memos/standup.mp3", "Audio file: standup.mp3"),
        ("call.wav", "Audio file: call.wav"),
    ],
)
def test_a_label_names_the_modality_and_the_file(path: str, label: str) -> None:
    assert label == label_of(path)


@pytest.mark.parametrize("path", ["a.md", "png", "a.gif", "a.png.md", "a.mp4", ".png"])
def test_other_files_are_no_media(path: str) -> None:
    assert format_of(path) is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.png", png("a")),
        ("a.jpg", padded(JPEG, "a", 50)),
        ("a.mp3", mp3("a")),
        ("a.mp3", FRAME),
        ("a.wav", wav("a")),
    ],
)
def test_a_media_file_becomes_one_chunk_that_is_its_label(
    tmp_path: Path, name: str, content: bytes
) -> None:
    document = read_media(found(tmp_path, name, content), now_ns=LATER_NS)
    [only] = chunk(document, options=ChunkOptions())

    assert digest_of(content) == document.digest == only.media
    assert (label_of(name), 1, 1) == (only.text, only.start_line, only.end_line)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.png", b""),
        ("a.png", b"\x89PNG"),
        ("a.png", padded(JPEG, "a", 50)),
        ("a.jpg", png("a")),
        ("a.mp3", padded(JPEG, "a", 50)),
        ("a.mp3", b"\xff"),
        ("a.wav", b"RIFF\x00\x00\x00\x00AVI fmt "),
        ("a.wav", mp3("a")),
        ("a.png", png("a", size_bytes=MOST_BYTES + 1)),
    ],
)
def test_a_file_that_is_not_what_its_name_says_or_too_large_is_unreadable(
    tmp_path: Path, name: str, content: bytes
) -> None:
    with pytest.raises(UnreadableError) as caught:
        read_media(found(tmp_path, name, content), now_ns=LATER_NS)

    assert name == caught.value.failure.path
    assert caught.value.failure.action


def test_what_is_embedded_is_read_again_and_must_still_be_the_same(tmp_path: Path) -> None:
    content = png("a")
    document = read_media(found(tmp_path, "a.png", content), now_ns=LATER_NS)
    [only] = chunk(document, options=ChunkOptions())
    missing = Missing(only.digest, only.text, "a.png", len(content))

    loaded = load_media(missing, roots=[tmp_path])
    (tmp_path / "a.png").write_bytes(content + b"more")
    grown = load_media(missing, roots=[tmp_path])
    (tmp_path / "a.png").unlink()
    gone = load_media(missing, roots=[tmp_path])

    assert loaded is not None
    assert ("Image file: a.png", "image/png", content) == (
        loaded.label,
        loaded.mime,
        loaded.content,
    )
    assert (None, None) == (grown, gone)


def test_requests_are_filled_up_to_the_bytes_of_a_request() -> None:
    # 3 bytes travel as 4: sizes 4, 4 and 8 are 8, 8 and 12 of at most 16.
    sizes = [4, 4, 8, 100, 1]
    files = [Missing(str(size), "x", f"{size}.png", size) for size in sizes]
    packer = RequestPacker(
        iter(files), limits=Limits(texts=10, tokens=100, in_flight=1, media_bytes=16)
    )

    requests = []
    while request := packer.next(None):
        requests.append([missing.size_bytes for missing in request.texts])

    assert [8, 12, 0] == [base64_bytes(size) for size in (4, 8, 0)]
    assert [[4, 4], [8], [100], [1]] == requests


def test_the_models_that_take_media_are_those_whose_provider_embeds_them() -> None:
    for model in EMBEDDINGS.models:
        provider = open_gemini(ProviderOptions("gemini", model=model))

        assert (model in MEDIA_MODELS["gemini"]) == isinstance(provider, EmbedsMedia)
        assert (provider.limits.media_bytes > 0) == isinstance(provider, EmbedsMedia)
