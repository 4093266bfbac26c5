"""Turns files, environment and arguments into one frozen Config."""

from __future__ import annotations

TYPE_CHECKING = False  # the module `typing` is slow to load
if TYPE_CHECKING:
    from recollect.config.load import Setup, load_config
    from recollect.config.paths import Places, agent_of, find_workspace
    from recollect.config.schema import Config

__all__ = ["Config", "Places", "Setup", "agent_of", "find_workspace", "load_config"]

_HOMES = {
    "Config": "schema",
    "Places": "paths",
    "Setup": "load",
    "agent_of": "paths",
    "find_workspace": "paths",
    "load_config": "load",
}


def __getattr__(name: str) -> object:
    # Loaded on first use: finding places is light, reading settings needs every stage and numpy.
    if name in _HOMES:
        from importlib import import_module  # noqa: PLC0415

        return getattr(import_module(f"recollect.config.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
