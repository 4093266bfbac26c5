"""MemoryHost: opens any memory of a database, with the same settings and models for all.

A memory is opened for a call and closed after it. That takes no connection and reads nothing, so
any number of servers can serve any number of memories, and none keeps a state that another lacks.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Self

from recollect.config.load import Setup
from recollect.hosting.memory import PushedMemory
from recollect.parts import Models
from recollect.stores.registry import open_host

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from recollect.config.schema import Config
    from recollect.stores.postgres.host import PostgresHost, PostgresTokens
    from recollect.stores.postgres.queue import PostgresQueue


class MemoryHost:
    """The memories of one database. Threads may share it."""

    def __init__(self, setup: Setup, host: PostgresHost) -> None:
        self._setup = setup
        self._host = host
        self._models = Models(setup.config, cache=setup.places.models)

    @classmethod
    def open(
        cls,
        *,
        config_file: Path | None = None,
        settings: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Self:
        """Open the database that the settings name.

        Raises:
            ConfigError: a setting is wrong, or names no database.
            StoreError: the database cannot be used.

        """
        setup = Setup.of_host(config_file=config_file, settings=settings, environ=environ)
        host = open_host(setup.config.store, limits=setup.config.limits)
        return cls(setup, host)

    @property
    def config(self) -> Config:
        """The settings in force."""
        return self._setup.config

    @property
    def location(self) -> str:
        """Where the database is, without a password; for operators."""
        return self._host.location

    def memory(
        self,
        agent: str,
        *,
        scopes: frozenset[str] | None = None,
        purpose: str = "a server of many memories",
    ) -> PushedMemory:
        """Return a memory for one thread; close it.

        Args:
            agent: whose memory it is.
            scopes: the only scopes of facts that may be seen or named; None allows all.
            purpose: the name under which other processes see this one at work.

        """
        return PushedMemory(
            self._setup.for_agent(agent).limited_to(scopes),
            store=self._host.store(agent),
            documents=self._host.pushed(agent),
            models=self._models,
            purpose=purpose,
        )

    def tokens(self) -> AbstractContextManager[PostgresTokens]:
        """Open the tokens of all memories, for one thread."""
        return closing(self._host.tokens())

    def queue(self) -> AbstractContextManager[PostgresQueue]:
        """Open the queue of work, for one thread."""
        return closing(self._host.queue())

    def close(self) -> None:
        """Release the connections and the models."""
        self._host.close()
        self._models.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
