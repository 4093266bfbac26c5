"""basic-memory, through its own command and tool, with vectors from the server by LiteLLM."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from bench.peers.programs.base import DIMENSIONS, MODEL, WANTED, Program

if TYPE_CHECKING:
    from bench.speed.meter import Watch

_PROJECT = "main"


class BasicMemory(Program):
    """The notes as its default project."""

    def open(self) -> None:
        """Name the folders and the server; it opens its database with the first use."""
        os.environ |= {
            "HOME": str(self.place.folder),
            "BASIC_MEMORY_CONFIG_DIR": str(self.place.folder / "config"),
            "BASIC_MEMORY_HOME": str(self.place.workspace),
            "BASIC_MEMORY_SEMANTIC_EMBEDDING_PROVIDER": "litellm",
            "BASIC_MEMORY_SEMANTIC_EMBEDDING_MODEL": f"openai/{MODEL}",
            "BASIC_MEMORY_SEMANTIC_EMBEDDING_API_BASE": self.place.url,
            "BASIC_MEMORY_SEMANTIC_EMBEDDING_API_KEY": "none",
            "BASIC_MEMORY_SEMANTIC_EMBEDDING_DIMENSIONS": str(DIMENSIONS),
            "BASIC_MEMORY_AUTO_UPDATE": "false",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it asks a server for prices
        }
        _allow_extensions()
        self._runner = asyncio.Runner()

    def sync(self) -> None:
        """Index what is new, as `basic-memory reindex` does."""
        from basic_memory.cli.commands.db import _reindex  # noqa: PLC0415 - it reads the variables
        from basic_memory.config import ConfigManager  # noqa: PLC0415

        config = ConfigManager().config
        self._runner.run(_reindex(config, search=True, embeddings=True, full=False, project=None))

    def search(self, question: str, watch: Watch) -> list[str]:
        """Search, as its tool for agents does."""
        from basic_memory.mcp.tools import search_notes  # noqa: PLC0415

        del watch
        answer = self._runner.run(
            search_notes(
                question,
                project=_PROJECT,
                page_size=WANTED,
                output_format="json",
                min_similarity=0.0,
            )
        )
        if not isinstance(answer, dict):
            raise RuntimeError(str(answer))  # noqa: TRY004 - it is what the program says
        return [row["file_path"] for row in answer["results"]]

    def close(self) -> None:
        """Close the database."""
        from basic_memory import db  # noqa: PLC0415

        self._runner.run(db.shutdown_db())
        self._runner.close()


def _allow_extensions() -> None:
    """Replace the SQLite of a Python that cannot load extensions: the program needs one."""
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        sys.modules["sqlite3"] = import_module("pysqlite3")
        sys.modules["sqlite3.dbapi2"] = import_module("pysqlite3.dbapi2")
