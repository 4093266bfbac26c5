"""Recollect: memory search for AI agents.

from recollect import Memory

with Memory.open("path/to/workspace") as memory:
    memory.sync()
    for hit in memory.search("what did we decide about backups?").hits:
        print(hit.score, hit.citation, hit.snippet)
"""

from __future__ import annotations

from recollect.version import __version__

TYPE_CHECKING = False  # the module `typing` is slow to load
if TYPE_CHECKING:
    from recollect.async_memory import AsyncMemory
    from recollect.errors import (
        ConfigError,
        NotFoundError,
        ProviderError,
        QueryError,
        RecollectError,
        StoreError,
        WorkspaceError,
    )
    from recollect.memory import Memory
    from recollect.reports import Excerpt, Report, Status
    from recollect.types import Hit, Results, SearchRequest, SourceKind, Step, Trace

__all__ = [
    "AsyncMemory",
    "ConfigError",
    "Excerpt",
    "Hit",
    "Memory",
    "NotFoundError",
    "ProviderError",
    "QueryError",
    "RecollectError",
    "Report",
    "Results",
    "SearchRequest",
    "SourceKind",
    "Status",
    "Step",
    "StoreError",
    "Trace",
    "WorkspaceError",
    "__version__",
]

_HOMES = (
    "recollect.errors",
    "recollect.types",
    "recollect.reports",
    "recollect.memory",
    "recollect.async_memory",
)


def __getattr__(name: str) -> object:
    # Importing the package must stay cheap: a command line that only shows help needs no numpy.
    if name in __all__:
        from importlib import import_module  # noqa: PLC0415

        for home in _HOMES:
            module = import_module(home)
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
