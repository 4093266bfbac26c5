"""/metrics, read by the parser of Prometheus' own client."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import httpx
from prometheus_client.parser import text_string_to_metric_families
from tests.http.servers import inside
from tests.support.waiting import wait_until

from recollect.shells.http.server import ServeOptions
from recollect.shells.http.state import Metrics, lines_of
from recollect.types import Mode
from recollect.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from recollect.types import Results

    Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def parsed(text: str) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for found in text_string_to_metric_families(text)
        for sample in found.samples
    }


def lines(several: Iterable[str]) -> str:
    return "\n".join([*several, ""])


def test_a_server_tells_what_it_did_and_what_it_holds(
    workspace: Path, environ: Mapping[str, str], write: Callable[[str, str], Path]
) -> None:
    write("MEMORY.md", "The anchor is in the shed.")
    with inside(workspace, environ, ServeOptions("127.0.0.1", 0)) as here:
        wait_until(lambda: here.memory.state == "idle")
        for path in ("/api/search?query=anchor", "/api/search?query=", "/api/zzz", "/health"):
            httpx.get(here.url + path, timeout=60)
        answers = []

        def is_idle() -> bool:  # searches and changes of files wake the worker
            answers.append(httpx.get(f"{here.url}/metrics", timeout=60))
            state = "recollect_worker_state", (("state", "idle"),)
            return parsed(answers[-1].text)[state] == 1

        wait_until(is_idle)
        answer = answers[-1]

    assert "text/plain; version=0.0.4; charset=utf-8" == answer.headers["content-type"]
    found = parsed(answer.text)
    requests = "recollect_http_requests_total"

    def asked(route: str, status: str) -> float:
        return found[requests, (("method", "GET"), ("route", route), ("status", status))]

    assert 1 == asked("/api/search", "200")
    assert 1 == asked("/api/search", "400")
    assert 1 == asked("unmatched", "404")
    assert 1 == asked("/health", "200")
    assert 1 == found["recollect_searches_total", (("mode", "hybrid"),)]
    assert 1 == found["recollect_index_documents", ()]
    assert 1 == found["recollect_index_chunks", ()]
    assert 1 == found["recollect_index_vectors", ()]
    assert 0 == found["recollect_index_pending", ()]
    assert 1 == found["recollect_last_sync_succeeded", ()]
    assert found["recollect_last_sync_timestamp_seconds", ()] > 1e9
    assert 1 == found["recollect_worker_state", (("state", "idle"),)]
    assert 0 == found["recollect_worker_state", (("state", "failing"),)]
    assert 1 == found["recollect_build_info", (("version", __version__),)]
    assert 1 == found["recollect_http_requests_under_way", ()]


def test_a_histogram_adds_up() -> None:
    metrics = Metrics()
    for seconds in (0.001, 0.005, 0.02, 0.3, 99.0):
        metrics.count_request(route="/x", method="GET", status=200, seconds=seconds)

    found = parsed(lines(metrics.lines()))

    def below(bound: str) -> float:
        key = (("le", bound), ("route", "/x"))
        return found["recollect_http_request_seconds_bucket", key]

    # 0.001 and 0.005 are at most 0.005; 0.02 is next; 0.3 is at most 0.5; 99 is beyond all.
    bounds = ("0.005", "0.01", "0.025", "0.25", "0.5", "30.0", "+Inf")
    assert [2, 2, 3, 3, 4, 4, 5] == [below(bound) for bound in bounds]
    assert 5 == found["recollect_http_request_seconds_count", (("route", "/x"),)]
    assert 99.326 == round(found["recollect_http_request_seconds_sum", (("route", "/x"),)], 3)


def test_labels_are_quoted_so_that_they_are_read_back() -> None:
    odd = 'a"b\\c\nd'

    found = parsed(lines(lines_of({"searches_total": {(("label", odd),): 1}})))

    assert {("recollect_searches_total", (("label", odd),)): 1} == found


def test_strange_requests_add_no_labels(workspace: Path, environ: Mapping[str, str]) -> None:
    with inside(
        workspace, {**environ, "RECOLLECT_PROVIDER": "none"}, ServeOptions("127.0.0.1", 0)
    ) as here:
        for number in range(10):
            httpx.request(f"METHOD{number}", f"{here.url}/path{number}")
            httpx.get(f"{here.url}/static/file{number}.js")
            httpx.get(f"{here.url}/path{number}", headers={"Host": f"host{number}.example"})
        found = parsed(httpx.get(f"{here.url}/metrics", timeout=60).text)

    assert {"unmatched", "refused", "/static/{name}"} == {
        dict(labels)["route"] for name, labels in found if name == "recollect_http_requests_total"
    }
    assert {"other", "GET"} == {
        dict(labels)["method"] for name, labels in found if name == "recollect_http_requests_total"
    }


def test_searches_of_many_memories_are_counted_by_size_and_not_by_memory() -> None:
    metrics = Metrics()
    for chunks in (0, 999, 1_000, 19_999, 20_000):
        done = SimpleNamespace(mode=Mode.HYBRID, degraded=None, searched=chunks, took_ms=100.0)
        metrics.count_search(cast("Results", done))

    counts = [line for line in metrics.lines() if "_count{" in line]

    assert [2, 2, 1] == [
        int(line.rpartition(" ")[2])
        for size in ("small", "medium", "large")
        for line in counts
        if f'size="{size}"' in line
    ]
