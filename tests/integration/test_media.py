"""Images and recordings: taken in from extra paths, embedded by gemini, found by their content."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.support.commands import recollect_command
from tests.support.waiting import PATIENCE_SECONDS
from tests.vendors.gemini import GeminiFormat, labels_in
from tests.vendors.media import FRAME, JPEG, mp3, padded, png, wav
from tests.vendors.server import VendorServer, refuse
from tests.vendors.strict import strict

from recollect import Memory
from recollect.errors import ConfigError, NotFoundError
from recollect.ingest import media
from recollect.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.vendors.server import Fault, Request

KEY = "AIza-live-0123456789abcdefghij"
HARBOUR = png("harbour")
STANDUP = mp3("standup")
GARDEN = padded(JPEG, "garden", 200)
SEEN = {
    HARBOUR: "harbour crane container ship unloading",
    STANDUP: "voices discussing the turbine outage",
    GARDEN: "cactus garden in bloom",
}


@pytest.fixture
def gemini() -> GeminiFormat:
    return GeminiFormat(seen={hashlib.sha256(file).hexdigest(): SEEN[file] for file in SEEN})


@pytest.fixture
def server(gemini: GeminiFormat) -> Iterator[VendorServer]:
    with VendorServer(gemini, key=KEY, route=strict) as running:
        yield running


@pytest.fixture
def off(environ: dict[str, str], server: VendorServer) -> dict[str, str]:
    """gemini as the provider, and extra paths that hold media: multimodal is not set."""
    return {
        **environ,
        "RECOLLECT_PROVIDER": "gemini",
        "RECOLLECT_MODEL": "gemini-embedding-2",
        "RECOLLECT_DIMENSIONS": "256",
        "RECOLLECT_REMOTE_BASE_URL": f"{server.url}/v1beta",
        "RECOLLECT_REMOTE_API_KEY": "env:GEMINI_API_KEY",
        "RECOLLECT_EXTRA_PATHS": "assets/**",
        "GEMINI_API_KEY": KEY,
    }


@pytest.fixture
def on(off: dict[str, str]) -> dict[str, str]:
    return {**off, "RECOLLECT_MULTIMODAL_ENABLED": "true"}


@pytest.fixture
def assets(workspace: Path) -> Path:
    """Two notes, two images and a recording."""
    folder = workspace / "assets"
    (folder / "meetings").mkdir(parents=True)
    (workspace / "MEMORY.md").write_text("The ledger is kept in the safe.\n", encoding="utf-8")
    (folder / "notes.md").write_text("Lantern oil is in the shed.\n", encoding="utf-8")
    (folder / "IMG_0001.png").write_bytes(HARBOUR)
    (folder / "spring.jpeg").write_bytes(GARDEN)
    (folder / "meetings" / "2026-02-01-standup.mp3").write_bytes(STANDUP)
    return folder


def command(
    workspace: Path, environ: dict[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*recollect_command(), "-w", str(workspace), *arguments],
        env=environ,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def test_by_default_no_media_file_is_read_or_sent(
    workspace: Path,
    assets: Path,
    off: dict[str, str],
    gemini: GeminiFormat,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    del assets
    monkeypatch.setattr(media, "content_of", lambda *_, **__: pytest.fail("a file was read"))

    with Memory.open(workspace, environ=off) as memory:
        report = memory.sync()

        assert (2, ()) == (report.added, report.failed)
        assert {"MEMORY.md", "assets/notes.md"} == memory.paths()
    assert not gemini.media


def test_an_image_is_found_by_what_is_to_be_seen_in_it(
    workspace: Path, assets: Path, on: dict[str, str], gemini: GeminiFormat
) -> None:
    del assets
    with Memory.open(workspace, environ=on) as memory:
        report = memory.sync()
        hit, *others = memory.search("container ship crane", min_score=0.0).hits

    assert (5, 5, 0, None) == (report.added, report.embedded, report.pending, report.degraded)
    assert 3 == gemini.media.total()
    assert ("assets/IMG_0001.png", 1, 1) == (hit.path, hit.start_line, hit.end_line)
    assert "Image file: IMG_0001.png" == hit.snippet
    assert hit.vector_score is not None
    assert hit.text_score is None
    assert others
    assert all(hit.vector_score > (other.vector_score or 0) + 0.1 for other in others)


def test_a_recording_is_found_by_what_is_said_and_has_the_date_of_its_name(
    workspace: Path, assets: Path, on: dict[str, str]
) -> None:
    del assets

    done = command(workspace, on, "index", "--json")
    answer = command(workspace, on, "search", "discussing turbine outage", "--json")

    first, *others = json.loads(answer.stdout)["results"]
    assert 0 == done.returncode
    assert ("assets/meetings/2026-02-01-standup.mp3", "2026-02-01") == (
        first["path"],
        first["date"],
    )
    assert "Audio file: 2026-02-01-standup.mp3" == first["snippet"]
    assert all(first["vectorScore"] > other["vectorScore"] + 0.1 for other in others)


def test_a_media_file_is_found_by_its_name_and_folder_without_any_vector(
    workspace: Path, assets: Path, on: dict[str, str], server: VendorServer
) -> None:
    del assets
    with Memory.open(workspace, environ=on) as memory:
        memory.sync()
        server.script = lambda *_: refuse(400, "no")

        by_name = memory.search("spring.jpeg")
        by_folder = memory.search("meetings standup")

    assert "assets/spring.jpeg" == by_name.hits[0].path
    assert "assets/meetings/2026-02-01-standup.mp3" == by_folder.hits[0].path


def test_an_unchanged_file_is_not_sent_again_wherever_it_is_and_a_changed_one_is(
    workspace: Path, assets: Path, on: dict[str, str], gemini: GeminiFormat
) -> None:
    with Memory.open(workspace, environ=on) as memory:
        memory.sync()
        gemini.media.clear()
        (assets / "copy").mkdir()
        (assets / "copy" / "IMG_0001.png").write_bytes(HARBOUR)
        (assets / "spring.jpeg").rename(assets / "meetings" / "spring.jpeg")
        copied = memory.sync(force=True)
        sent_for_copies = gemini.media.total()
        (assets / "IMG_0001.png").write_bytes(png("another view"))
        changed = memory.sync()

    assert (1, 1, 0) == (copied.added, copied.moved, sent_for_copies)
    assert (1, 1) == (changed.changed, changed.embedded)
    assert ["title: none | text: Image file: IMG_0001.png"] == list(gemini.media)


def test_the_bytes_of_a_file_are_in_no_file_of_the_index(
    tmp_path: Path, workspace: Path, assets: Path, on: dict[str, str]
) -> None:
    del assets
    with Memory.open(workspace, environ=on) as memory:
        memory.sync()

    kept = [file for file in (tmp_path / "home").rglob("*") if file.is_file()]
    assert kept
    assert [] == [file for file in kept if HARBOUR[8:40] in file.read_bytes()]


def test_what_is_too_large_or_not_what_its_name_says_is_reported_and_the_rest_goes_on(
    workspace: Path, assets: Path, on: dict[str, str], gemini: GeminiFormat
) -> None:
    (assets / "large.png").write_bytes(png("large", size_bytes=media.MOST_BYTES + 1))
    (assets / "fits.png").write_bytes(png("fits", size_bytes=media.MOST_BYTES))
    (assets / "disguised.png").write_bytes(GARDEN)
    (assets / "text.mp3").write_text("not a recording", encoding="utf-8")
    (assets / "empty.wav").write_bytes(b"")

    with Memory.open(workspace, environ=on) as memory:
        report = memory.sync()
        again = memory.sync(retry=False)

    reasons = {failure.path: (failure.reason, failure.action) for failure in report.failed}
    assert {
        "assets/large.png",
        "assets/disguised.png",
        "assets/text.mp3",
        "assets/empty.wav",
    } == set(reasons)
    assert "larger than" in reasons["assets/large.png"][0]
    assert "is named as PNG but contains something else" == reasons["assets/disguised.png"][0]
    assert all(action for _, action in reasons.values())
    assert (6, 0, 4) == (report.added, report.pending, len(again.failed))
    assert 4 == gemini.media.total()


@pytest.mark.parametrize(
    "changes",
    [
        {"RECOLLECT_MODEL": ""},
        {"RECOLLECT_MODEL": "gemini-embedding-001"},
        {"RECOLLECT_PROVIDER": "openai", "RECOLLECT_MODEL": "gemini-embedding-2"},
        {"RECOLLECT_PROVIDER": "local", "RECOLLECT_MODEL": ""},
    ],
    ids=["default model", "text model", "another vendor", "local"],
)
def test_media_with_a_provider_that_embeds_only_texts_is_a_wrong_setting(
    workspace: Path, on: dict[str, str], changes: dict[str, str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        Memory.open(workspace, environ={**on, **changes})

    assert "`multimodal.enabled` is set" in caught.value.message
    assert 'model = "gemini-embedding-2"' in caught.value.action


def test_media_without_a_provider_named_is_a_wrong_setting(
    workspace: Path, environ: dict[str, str]
) -> None:
    with pytest.raises(ConfigError, match="multimodal"):
        Memory.open(workspace, environ={**environ, "RECOLLECT_MULTIMODAL_ENABLED": "true"})


def test_a_workspace_cannot_have_its_files_sent(workspace: Path, off: dict[str, str]) -> None:
    settings = workspace / "recollect.toml"
    settings.write_text("[multimodal]\nenabled = true\n", encoding="utf-8")

    with pytest.raises(ConfigError, match="may not"):
        Memory.open(workspace, environ=off)


def test_one_kind_of_media_alone_can_be_indexed(
    workspace: Path, assets: Path, on: dict[str, str], gemini: GeminiFormat
) -> None:
    (assets / "frames.mp3").write_bytes(FRAME + bytes(100))
    (assets / "speech.wav").write_bytes(wav("speech"))

    with Memory.open(workspace, environ={**on, "RECOLLECT_EXCLUDE": "*.png,*.jpeg"}) as memory:
        report = memory.sync()

    assert () == report.failed
    assert {"2026-02-01-standup.mp3", "frames.mp3", "speech.wav"} == {
        label.rpartition(": ")[2] for label in gemini.media
    }


def test_the_memory_folder_itself_holds_only_markdown(
    workspace: Path, on: dict[str, str], gemini: GeminiFormat
) -> None:
    (workspace / "memory" / "photo.png").write_bytes(HARBOUR)
    (workspace / "memory" / "note.md").write_text("A note.\n", encoding="utf-8")

    with Memory.open(workspace, environ={**on, "RECOLLECT_EXTRA_PATHS": ""}) as memory:
        memory.sync()

        assert {"memory/note.md"} == memory.paths()
    assert not gemini.media


def test_a_file_named_by_itself_says_why_it_is_not_taken_in(
    workspace: Path, assets: Path, off: dict[str, str], on: dict[str, str]
) -> None:
    del assets
    named = {"RECOLLECT_EXTRA_PATHS": "assets/spring.jpeg"}
    with Memory.open(workspace, environ={**off, **named}) as memory:
        [failure] = memory.sync().failed
    with Memory.open(workspace, environ={**on, **named}) as memory:
        taken = memory.sync()

    assert "is an image file, and those are not indexed" == failure.reason
    assert "multimodal.enabled" in failure.action
    assert (1, ()) == (taken.added, taken.failed)


def test_going_back_to_the_local_model_leaves_nothing_pending(
    workspace: Path, assets: Path, on: dict[str, str], environ: dict[str, str]
) -> None:
    del assets
    with Memory.open(workspace, environ=on) as memory:
        memory.sync()
    back = {**environ, "RECOLLECT_PROVIDER": "local", "RECOLLECT_EXTRA_PATHS": "assets/**"}

    with Memory.open(workspace, environ=back) as memory:
        report = memory.sync()
        results = memory.search("where is the oil for the lantern")
        status = memory.status()

    assert (3, 0, None) == (report.removed, report.pending, report.degraded)
    assert (0, 2) == (status.legs.vector.pending, status.index.documents)
    assert "assets/notes.md" == results.hits[0].path
    assert "hybrid" == results.mode


def test_media_of_a_folder_out_of_reach_stay_and_a_text_model_does_not_wait_for_them(
    workspace: Path, assets: Path, on: dict[str, str], environ: dict[str, str]
) -> None:
    place = {"RECOLLECT_EXTRA_PATHS": "assets/meetings"}
    with Memory.open(workspace, environ={**on, **place}) as memory:
        memory.sync()
    (assets / "meetings").rename(assets / "unmounted")

    with Memory.open(
        workspace, environ={**environ, **place, "RECOLLECT_PROVIDER": "local"}
    ) as memory:
        report = memory.sync()
        results = memory.search("standup")

    assert ["assets/meetings"] == [failure.path for failure in report.failed]
    assert (2, 1, 0) == (report.chunks, report.embedded, report.pending)
    assert report.degraded is None
    assert "assets/meetings/2026-02-01-standup.mp3" == results.hits[0].path
    assert (None, "hybrid") == (results.hits[0].vector_score, results.mode)


def test_a_file_that_changes_before_it_is_sent_is_left_for_the_next_sync(
    workspace: Path, assets: Path, on: dict[str, str], server: VendorServer, gemini: GeminiFormat
) -> None:
    changed = png("changed meanwhile")

    def script(_number: int, request: Request) -> Fault | None:
        if not labels_in(request):  # texts come first: now the images are taken in, and not sent
            (assets / "IMG_0001.png").write_bytes(changed)
        return None

    server.script = script
    with Memory.open(workspace, environ=on) as memory:
        first = memory.sync()
        sent_first = gemini.media.total()
        second = memory.sync()

    assert (1, 2) == (first.pending, sent_first)
    assert (0, 1, 1) == (second.pending, second.changed, second.embedded)


def test_files_are_packed_by_bytes_and_sent_whole(
    workspace: Path, on: dict[str, str], server: VendorServer
) -> None:
    folder = workspace / "assets"
    folder.mkdir()
    for number in range(7):
        (folder / f"{number}.png").write_bytes(png(str(number), size_bytes=2_400_000))

    with Memory.open(workspace, environ=on) as memory:
        report = memory.sync()

    sizes = [len(request.raw) for request in server.requests if labels_in(request)]
    assert (7, 0) == (report.embedded, report.pending)
    assert [1, 3, 3] == sorted(
        len(labels_in(request)) for request in server.requests if labels_in(request)
    )
    assert max(sizes) < 10_000_000


def test_a_file_the_vendor_refuses_is_named_and_the_others_are_embedded(
    workspace: Path, assets: Path, on: dict[str, str], server: VendorServer, gemini: GeminiFormat
) -> None:
    del assets

    def script(_number: int, request: Request) -> Fault | None:
        too_long = any("standup" in label for label in labels_in(request))
        return refuse(400, f"Audio is too long. {KEY}") if too_long else None

    server.script = script
    with Memory.open(workspace, environ=on) as memory:
        report = memory.sync()
        published = memory.status().legs.vector.served_from is not None

    assert 2 == gemini.media.total()
    assert (1, True) == (report.pending, published)
    assert report.degraded is not None
    reason = report.degraded["vector"].reason
    assert reason.endswith("Left out: assets/meetings/2026-02-01-standup.mp3.")
    assert "`exclude`" in report.degraded["vector"].action
    assert KEY not in reason


def test_the_tokens_of_an_image_are_counted_with_its_label(
    workspace: Path, assets: Path, on: dict[str, str]
) -> None:
    del assets
    images = {**on, "RECOLLECT_EXCLUDE": "**/*.mp3"}
    with Memory.open(workspace, environ=images) as memory:
        report = memory.sync()

    assert 0 < report.tokens - 2 * 258 < 60


def test_reading_a_media_file_says_what_it_is_instead(
    workspace: Path, assets: Path, on: dict[str, str]
) -> None:
    del assets
    with Memory.open(workspace, environ=on) as memory:
        memory.sync()
        with pytest.raises(NotFoundError) as caught:
            memory.get("assets/spring.jpeg")

    assert "assets/spring.jpeg: is an image file of 200 bytes, not text" == caught.value.message
    assert caught.value.action.endswith("assets/spring.jpeg")


def test_a_second_home_pays_nothing_for_files_in_the_cache(
    tmp_path: Path, workspace: Path, assets: Path, on: dict[str, str], gemini: GeminiFormat
) -> None:
    del assets
    with Memory.open(workspace, environ=on) as memory:
        memory.sync()
    gemini.media.clear()
    [index] = (tmp_path / "home" / "memory").glob("*.sqlite")
    with SqliteStore.open(index) as store:
        store.clear()

    with Memory.open(workspace, environ=on) as memory:
        report = memory.sync()

    assert (5, 0) == (report.reused, report.pending)
    assert not gemini.media


def test_the_key_is_in_no_output_and_no_file(
    tmp_path: Path, workspace: Path, assets: Path, on: dict[str, str], server: VendorServer
) -> None:
    del assets
    server.script = lambda number, request: (
        refuse(400, f"{KEY} may not") if labels_in(request) and number % 2 else None
    )

    outputs = [
        command(workspace, on, *arguments)
        for arguments in (
            ("index", "--json"),
            ("search", "harbour crane", "--explain", "--json"),
            ("status", "--json"),
            ("get", "assets/spring.jpeg"),
        )
    ]

    assert re.search("not text", outputs[-1].stderr)
    assert [] == [done.args for done in outputs if KEY in done.stdout + done.stderr]
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert [] == [file for file in files if KEY.encode() in file.read_bytes()]
