"""The engines by name, imported only in the process that measures them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.speed.engines.base import Engine, Place

ENGINES = {
    "recollect": "recollect:Recollect",
    "fts5": "fts5:Fts5",
    "tantivy": "tantivy_engine:Tantivy",
    "lancedb": "lancedb_engine:LanceDb",
    "lancedb-ivf": "lancedb_engine:LanceDbIvf",
    "chroma": "chroma:Chroma",
    "memsearch": "memsearch_engine:MemSearch",
    "openclaw": "openclaw:OpenClaw",
}
PEERS = tuple(name for name in ENGINES if name != "recollect")
MOST_CHUNKS = {"memsearch": 100_000, "openclaw": 100_000}
"""What an engine can store in reasonable time; it is left out at larger sizes."""
LEFT_OUT = {
    "tantivy": "keyword search only; its filtered searches are keyword searches.",
    "lancedb": "a phrase replaces the question and cannot narrow it.",
    "chroma": "no ranked keyword search in the embedded database; filtered searches by vector.",
    "memsearch": "always asks both legs; filters by folder only; cuts files into chunks itself.",
    "openclaw": "always asks both legs; has no filters; cuts files into chunks itself; its vectors"
    " come from a server on loopback, so the request for the question's vector is counted.",
}
"""What the peers cannot do, or do otherwise."""


def open_engine(name: str, place: Place) -> Engine:
    """Return an engine, not opened."""
    module, _, kind = ENGINES[name].partition(":")
    made: Engine = getattr(import_module(f"bench.speed.engines.{module}"), kind)(place)
    return made
