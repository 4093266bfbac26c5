"""The overview behind the page: documents, days, and the map, over a real index."""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.web.serving import private_environ
from tests.web.vault import copy_sample

from recollect import Memory
from recollect.browse.layout import NEIGHBOURS, evenly, lay_out, widest
from recollect.errors import NotFoundError, UsageError
from recollect.stores.base import published_in
from recollect.types import Leg, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import numpy.typing as npt

WORDS = {"provider": "none"}


@pytest.fixture(scope="session")
def wren(
    tmp_path_factory: pytest.TempPathFactory,
    fill_home: Callable[[Path], None],
) -> Iterator[Memory]:
    """The sample workspace, embedded by the real model."""
    folder = tmp_path_factory.mktemp("overview")
    fill_home(folder / "home")
    environ = private_environ(folder)
    with Memory.open(copy_sample(folder / "wren"), environ=environ) as memory:
        memory.sync()
        yield memory


def trust(vectors: npt.NDArray[np.float32], places: npt.NDArray[np.float64]) -> float:
    """Return the trustworthiness of a map, from 0 to 1 (Venna and Kaski 2001), on a sample.

    1 if the points nearest to a point are its nearest by meaning; about 0.5 if they are random.
    """
    count, k = len(vectors), min(NEIGHBOURS, (len(vectors) - 1) // 2)
    if k < 1 or 2 * count - 3 * k - 1 <= 0:
        return 1.0
    sample = evenly(count, 400)
    centred = vectors - vectors.mean(axis=0)
    units = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    rows = np.arange(len(sample))[:, None]
    distances = -(units[sample] @ units.T)
    distances[rows[:, 0], sample] = -np.inf
    ranks = np.empty(distances.shape, np.intp)
    ranks[rows, np.argsort(distances, axis=1, kind="stable")] = np.arange(count)
    apart = np.square(places[sample][:, None, :] - places[None, :, :]).sum(axis=2)
    apart[rows[:, 0], sample] = np.inf
    shown = np.argpartition(apart, k - 1, axis=1)[:, :k]
    strangers = np.maximum(ranks[rows, shown] - k, 0).sum()
    return float(1 - 2 * strangers / (len(sample) * k * (2 * count - 3 * k - 1)))


def test_a_map_starts_on_the_axes_of_an_exact_decomposition() -> None:
    rng = np.random.default_rng(1)
    vectors = (rng.normal(size=(300, 40)) * np.linspace(3, 1, 40) + 5).astype(np.float32)
    centred = vectors - vectors.mean(axis=0)
    _, _, exact = np.linalg.svd(centred, full_matrices=False)
    found = np.corrcoef(widest(vectors).T, (centred @ exact[:2].T).T)

    assert pytest.approx([1, 1], abs=1e-3) == np.abs([found[0, 2], found[1, 3]])


def test_a_map_keeps_neighbours_that_two_axes_do_not(wren: Memory) -> None:
    fingerprint = published_in(wren.parts.store.spaces())
    keys = wren.parts.store.embedded(fingerprint, scope=Scope())
    vectors = wren.parts.store.load(keys.tolist(), terms=(), fingerprint=fingerprint).vectors

    straight = trust(vectors, widest(vectors))
    laid_out = trust(vectors, lay_out(vectors))

    assert straight < 0.8
    assert laid_out > straight + 0.08


def test_trust_is_one_for_a_perfect_map_and_a_half_for_a_random_one() -> None:
    rng = np.random.default_rng(3)
    flat = rng.normal(size=(300, 2)).astype(np.float32)
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    flat -= flat.mean(axis=0)
    around = flat / np.linalg.norm(flat, axis=1, keepdims=True)

    assert trust(flat, around.astype(np.float64)) > 0.999
    assert pytest.approx(0.5, abs=0.05) == trust(flat, rng.normal(size=(300, 2)))


def test_maps_of_a_few_notes_keep_neighbours_too() -> None:
    kept = []
    for seed in range(10):  # of so few, one alone may be badly placed
        rng = np.random.default_rng(seed)
        topics = np.repeat(rng.normal(size=(4, 16)), 4, axis=0)
        vectors = (topics + rng.normal(scale=0.3, size=(16, 16))).astype(np.float32)
        kept.append(trust(vectors, lay_out(vectors)))

    assert np.mean(kept) > 0.75


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_a_few_vectors_have_places_too(count: int) -> None:
    vectors = np.eye(5, dtype=np.float32)[:count]
    places = lay_out(vectors)

    assert (count, 2) == places.shape
    assert np.isfinite(places).all()


def test_texts_about_one_thing_lie_nearer_to_each_other_than_to_the_rest(wren: Memory) -> None:
    points = wren.overview.map().points
    places = np.array([(point.x, point.y) for point in points])
    of_one = np.array([point.path == "memory/protocols/backups-and-restore.md" for point in points])
    inside = np.linalg.norm(places[of_one] - places[of_one].mean(axis=0), axis=1).mean()
    outside = np.linalg.norm(places[~of_one] - places[of_one].mean(axis=0), axis=1).mean()

    assert inside < 0.5 * outside


def test_a_map_is_the_same_every_time_and_within_bounds(wren: Memory) -> None:
    first = wren.overview.map()
    again = wren.overview.map()

    assert first == again
    assert all(abs(point.x) <= 1 and abs(point.y) <= 1 for point in first.points)
    assert first.total == wren.status().index.chunks
    assert any(point.path.startswith("memory/zh/") for point in first.points)


def test_a_sample_is_spread_evenly(wren: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = wren.overview.map()
    monkeypatch.setattr("recollect.browse.overview.MAX_LAID_OUT", 50)
    with wren.reader() as other:
        part = other.overview.map()

    assert (50, whole.total) == (len(part.points), part.total)
    assert whole.points[0].path == part.points[0].path
    assert whole.points[-1].path == part.points[-1].path


def test_a_map_follows_the_index(wren: Memory) -> None:
    before = wren.overview.map().total
    note = wren.workspace / "memory" / "2026-10-05.md"
    note.write_text("# Fresh\n\nThe cat has found the herring.\n", encoding="utf-8")
    wren.sync()
    during = wren.overview.map()
    note.unlink()
    wren.sync()

    assert before + 1 == during.total
    assert "memory/2026-10-05.md" in {point.path for point in during.points}
    assert before == wren.overview.map().total


def test_without_vectors_the_map_says_why_it_is_empty(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/2026-02-01.md", "# Anchor\n\nGreen.\n")
    with Memory.open(workspace, environ=environ, settings=WORDS) as memory:
        memory.sync()
        drawn = memory.overview.map()

    assert () == drawn.points
    assert "the provider is none" in (drawn.degraded or {})[Leg.VECTOR].reason


def test_days_are_counted_by_source_and_what_has_none_apart(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/2026-02-01.md", "# One\n\nFirst.\n\n# Two\n\nSecond.\n")
    write("memory/2026-02-03.md", "# Three\n\nThird.\n")
    write("MEMORY.md", "# Lasting\n\nAlways.\n")
    with Memory.open(workspace, environ=environ, settings=WORDS) as memory:
        memory.sync()
        found = memory.overview.timeline()

    counted = [
        (day.date, day.amounts.total.documents, day.amounts.total.chunks) for day in found.days
    ]
    assert [(date(2026, 2, 1), 1, 2), (date(2026, 2, 3), 1, 1)] == counted
    assert 1 == found.undated.total.documents
    assert ["memory"] == list(found.days[0].amounts.by_source)


def test_documents_come_the_newest_first_page_by_page(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    for day in ("2026-02-01", "2026-02-02", "2026-02-03"):
        write(f"memory/{day}.md", f"# Day {day}\n\n## Morning\n\nTea.\n\n## Noon\n\nSoup.\n")
    write("MEMORY.md", "# Lasting\n\nAlways.\n")
    with Memory.open(workspace, environ=environ, settings=WORDS) as memory:
        memory.sync()
        pages = [memory.overview.documents(limit=2, offset=offset) for offset in (0, 2, 4)]
        one_day = memory.overview.documents(since=date(2026, 2, 2), before=date(2026, 2, 3))

    paths = [each.path for page in pages for each in page.documents]
    assert [f"memory/2026-02-0{day}.md" for day in (3, 2, 1)] + ["MEMORY.md"] == paths
    assert {4} == {page.total for page in pages}
    assert ["memory/2026-02-02.md"] == [each.path for each in one_day.documents]
    assert ("Day 2026-02-03", ("Morning", "Noon")) == (
        pages[0].documents[0].title,
        pages[0].documents[0].headings,
    )


def test_a_listed_note_says_its_first_line_its_tags_and_when_its_file_changed(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    file = write(
        "memory/tea.md",
        "---\ntags: [kitchen]\n---\n# Tea\n\n![pot](pot.png)\n\n"
        "Steep it for *four* minutes. #ritual\n\n<private>#secret</private>\n",
    )
    os.utime(file, (1_767_225_600, 1_767_225_600))  # 2026-01-01
    with Memory.open(workspace, environ=environ, settings=WORDS) as memory:
        memory.facts.remember("The pot is blue", tags=["pottery"])
        memory.sync()
        fact, before = memory.overview.documents().documents
        file.write_text("Let it cool.\n", encoding="utf-8")
        memory.sync()
        after = memory.overview.documents(source="memory").documents[0]

    assert "Steep it for *four* minutes. #ritual" == before.first_line
    assert ("kitchen", "ritual") == before.tags
    assert datetime(2026, 1, 1, tzinfo=UTC) == before.changed
    assert ("Let it cool.", ()) == (after.first_line, after.tags)
    assert ("", ()) == (fact.first_line, fact.tags), "a page of facts has many scopes"


def test_a_note_names_the_notes_that_links_connect_it_with(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/tea.md", "See [[Pots]] and [the cups](shelf/cups.md).\n")
    write("memory/pots.md", "All pots.\n")
    write("memory/shelf/cups.md", "For [[tea]].\n")
    with Memory.open(workspace, environ=environ, settings=WORDS) as memory:
        memory.sync()
        tea = memory.overview.related("memory/tea.md")

    assert ("memory/pots.md", "memory/shelf/cups.md") == tea.links
    assert ("memory/shelf/cups.md",) == tea.backlinks


PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


def test_a_picture_is_found_beside_its_note_from_the_top_and_by_its_name(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/trips/lake.md", "![](boat.png)\n")
    for place in ("trips", "attached"):
        (workspace / "memory" / place).mkdir(exist_ok=True)
        (workspace / "memory" / place / f"{place}.png").write_bytes(PNG)
    with Memory.open(workspace, environ=environ, settings=WORDS) as memory:
        shown = [
            memory.parts.picture(path, note="memory/trips/lake.md")
            for path in (
                "trips.png",
                "../trips/trips.png",
                "memory/trips/trips.png",
                "attached.png",
            )
        ]

    assert [(PNG, "image/png")] * 4 == shown


def test_only_pictures_in_folders_of_notes_are_read(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path], tmp_path: Path
) -> None:
    write("memory/lake.md", "![](boat.png)\n")
    write("memory/.recollectignore", "hidden/\n")
    write(".recollectignore", "memory/hidden/\n")
    outside = tmp_path / "outside.png"
    outside.write_bytes(PNG)
    (workspace / "memory" / "link.png").symlink_to(outside)
    (workspace / "top.png").write_bytes(PNG)
    for name in ("hidden", ".git"):
        (workspace / "memory" / name).mkdir()
        (workspace / "memory" / name / "secret.png").write_bytes(PNG)
    (workspace / "memory" / "page.svg").write_text("<svg/>", encoding="utf-8")
    (workspace / "memory" / "text.png").write_text("<script>", encoding="utf-8")
    refused = []
    names = ["link.png", "top.png", "../top.png", str(outside), f"../../{outside.name}", "page.svg"]
    names += ("hidden/secret.png", ".git/secret.png", "secret.png", "text.png", "lake.md", "no.png")
    with Memory.open(workspace, environ=environ, settings=WORDS) as memory:
        for name in names:
            with contextlib.suppress(NotFoundError):
                refused.append((name, memory.parts.picture(name, note="memory/lake.md")))

    assert [] == refused


def test_facts_of_other_scopes_are_neither_counted_nor_listed(
    workspace: Path, environ: dict[str, str]
) -> None:
    with Memory.open(workspace, environ=environ, settings=WORDS) as memory:
        memory.facts.remember("Ada hid the anchor", scope="user:ada")
        memory.facts.remember("The anchor is green")
        memory.sync()
        everyone = memory.overview.timeline().days[0].amounts.total.chunks
        ada = memory.overview.timeline(scopes=["user:ada"]).days[0].amounts.total.chunks
    with Memory.open(workspace, environ=environ, settings=WORDS, scopes=[]) as memory:
        limited = memory.overview.timeline(scopes=["user:ada"]).days[0].amounts.total.chunks
        listed = memory.overview.documents(scopes=["user:ada"]).documents

    assert (1, 2, 1) == (everyone, ada, limited)
    assert 1 == sum(each.chunks for each in listed)


def test_arguments_out_of_range_are_refused(workspace: Path, environ: dict[str, str]) -> None:
    with Memory.open(workspace, environ=environ, settings=WORDS) as memory:
        with pytest.raises(UsageError, match="limit must be"):
            memory.overview.documents(limit=5000)
        with pytest.raises(UsageError, match="offset must be at least 0"):
            memory.overview.documents(offset=-1)
