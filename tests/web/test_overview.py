"""The overview behind the page: documents, days, and the map, over a real index."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.web.serving import private_environ
from tests.web.vault import copy_sample

from recollect import Memory
from recollect.browse.labels import LabelText, name_groups
from recollect.browse.layout import grouped, lay_out, trust, widest
from recollect.errors import QueryError, UsageError
from recollect.stores.base import published_in
from recollect.types import Leg, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WORDS = {"provider": "none"}


@pytest.fixture(scope="session")
def wren(
    tmp_path_factory: pytest.TempPathFactory,
    model_folder: Path,
    fill_home: Callable[[Path], None],
) -> Iterator[Memory]:
    """The sample workspace, embedded by the real model."""
    folder = tmp_path_factory.mktemp("overview")
    fill_home(folder / "home")
    environ = private_environ(folder, models=model_folder.parent)
    with Memory.open(copy_sample(folder / "wren"), environ=environ) as memory:
        memory.sync()
        yield memory


def test_a_map_starts_on_the_axes_of_an_exact_decomposition() -> None:
    rng = np.random.default_rng(1)
    vectors = (rng.normal(size=(300, 40)) * np.linspace(3, 1, 40) + 5).astype(np.float32)
    centred = vectors - vectors.mean(axis=0)
    _, _, exact = np.linalg.svd(centred, full_matrices=False)
    found = np.corrcoef(widest(vectors).T, (centred @ exact[:2].T).T)

    assert pytest.approx([1, 1], abs=1e-3) == np.abs([found[0, 2], found[1, 3]])


def test_a_map_keeps_neighbours_that_two_axes_do_not(wren: Memory) -> None:
    fingerprint = published_in(wren.parts.store.spaces())
    keys = wren.parts.store.embedded(fingerprint, scope=Scope())  # type: ignore[arg-type]
    vectors = wren.parts.store.load(keys.tolist(), terms=(), fingerprint=fingerprint).vectors

    straight = trust(vectors, widest(vectors))
    laid_out = trust(vectors, lay_out(vectors).places)

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


def test_a_map_of_a_few_notes_keeps_neighbours_too() -> None:
    rng = np.random.default_rng(5)
    topics = np.repeat(rng.normal(size=(4, 16)), 4, axis=0)
    vectors = (topics + rng.normal(scale=0.3, size=(16, 16))).astype(np.float32)

    assert trust(vectors, lay_out(vectors).places) > 0.8


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_a_few_vectors_have_places_too(count: int) -> None:
    vectors = np.eye(5, dtype=np.float32)[:count]
    places = lay_out(vectors).places

    assert (count, 2) == places.shape
    assert np.isfinite(places).all()
    assert count == len(grouped(places))


def test_groups_are_named_by_the_words_that_tell_them_apart() -> None:
    def texts(*bodies: str) -> list[LabelText]:
        return [LabelText("Notes", body) for body in bodies]

    named = name_groups(
        [
            texts("The backups are nightly", "Restore a backup first", "Our backup failed"),
            texts("The cat eats herring", "Herring again", "No herrings"),
            texts("我们的自行车", "自行车坏了"),
        ]
    )

    assert [("backup",), ("herring",), ("自行车",)] == [words[:1] for words in named]


def test_texts_about_one_thing_lie_nearer_to_each_other_than_to_the_rest(wren: Memory) -> None:
    points = wren.overview.map().points
    places = np.array([(point.x, point.y) for point in points])
    of_one = np.array([point.path == "memory/protocols/backups-and-restore.md" for point in points])
    inside = np.linalg.norm(places[of_one] - places[of_one].mean(axis=0), axis=1).mean()
    outside = np.linalg.norm(places[~of_one] - places[of_one].mean(axis=0), axis=1).mean()

    assert inside < 0.5 * outside


def test_a_map_is_the_same_every_time_and_within_bounds(wren: Memory) -> None:
    first = wren.overview.map("what does the cat eat")
    again = wren.overview.map("what does the cat eat")

    assert first == again
    assert all(abs(point.x) <= 1 and abs(point.y) <= 1 for point in first.points)
    assert first.total == wren.status().index.chunks
    # Those in other scripts have vectors of another model, which cannot be drawn with these.
    other_scripts = ("memory/zh/", "memory/ja/")
    assert not any(point.path.startswith(other_scripts) for point in first.points)
    assert 0.8 < first.trust < 1
    assert len(first.points) == sum(group.size for group in first.groups)
    assert all(group.words for group in first.groups)


def test_a_query_lies_among_its_nearest_and_they_are_those_of_the_vector_leg(
    wren: Memory,
) -> None:
    drawn = wren.overview.map("what does the cat eat")
    hits = wren.search("what does the cat eat", legs=[Leg.VECTOR], max_results=5).hits
    nearest = [
        (drawn.points[place].path, drawn.points[place].start_line) for place in drawn.nearest
    ]

    assert drawn.query is not None
    assert 12 == len(nearest)
    assert {(hit.path, hit.start_line) for hit in hits[:3]} <= set(nearest)


def test_a_sample_is_spread_evenly_and_holds_the_nearest_all_the_same(wren: Memory) -> None:
    whole = wren.overview.map()
    part = wren.overview.map(most=50)
    asked = wren.overview.map("what does the cat eat", most=50)

    assert (50, whole.total) == (len(part.points), part.total)
    assert whole.points[0].path == part.points[0].path
    assert whole.points[-1].path == part.points[-1].path
    assert 50 < len(asked.points) <= 62
    assert 12 == len(asked.nearest)


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


def test_a_query_in_a_script_the_model_does_not_read_is_not_placed(wren: Memory) -> None:
    drawn = wren.overview.map("猫吃什么")

    assert drawn.query is None
    assert drawn.points
    assert "does not support this writing system" in (drawn.degraded or {})[Leg.VECTOR].reason


def test_without_vectors_the_map_says_why_it_is_empty(
    workspace: Path, environ: dict[str, str], write: Callable[[str, str], Path]
) -> None:
    write("memory/2026-02-01.md", "# Anchor\n\nGreen.\n")
    with Memory.open(workspace, environ=environ, settings=WORDS) as memory:
        memory.sync()
        drawn = memory.overview.map()
        asked = memory.overview.map("anchor")

    assert () == drawn.points
    assert "the provider is none" in (drawn.degraded or {})[Leg.VECTOR].reason
    assert drawn == asked


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
        with pytest.raises(UsageError, match="most must be from 1 to 20000"):
            memory.overview.map(most=0)
        with pytest.raises(UsageError, match="limit must be"):
            memory.overview.documents(limit=5000)
        with pytest.raises(UsageError, match="offset must be at least 0"):
            memory.overview.documents(offset=-1)


def test_an_empty_query_is_refused(wren: Memory) -> None:
    with pytest.raises(QueryError):
        wren.overview.map("  ")
