"""A retriever for LangChain: a Memory's hits as Documents.

from recollect.retrievers.langchain import RecollectRetriever

with RecollectRetriever.open("path/to/workspace", max_results=4) as retriever:
    documents = retriever.invoke("what did we decide about backups?")
"""

from __future__ import annotations

from datetime import date  # noqa: TC003 - pydantic reads the fields' types when the class is made
from typing import TYPE_CHECKING, Self, Unpack, cast

try:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ModuleNotFoundError as error:
    if error.name != "langchain_core":
        raise
    raise ImportError(
        "The LangChain retriever needs langchain-core. "
        "Install the extra in Recollect's checkout: pip install '.[langchain]'",
        name=error.name,
    ) from error

from pydantic import ConfigDict, Field

from recollect.memory import Memory
from recollect.retrievers.asking import Narrowed, ask

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

    from langchain_core.callbacks import CallbackManagerForRetrieverRun


class RecollectRetriever(BaseRetriever):
    """Finds Documents in a Memory, from any thread; `ainvoke` never blocks the event loop.

    A Document's text is the whole chunk. Its metadata has path, start_line, end_line, citation,
    score, source, heading, date and id; `confident`, false when nothing found stands out from
    noise; and `degraded`, a sentence when part of the search did not run, which is also logged.
    """

    model_config = ConfigDict(extra="forbid")  # a mistyped name would narrow nothing, silently

    memory: Memory = Field(repr=False, exclude=True)
    """Stays open until its owner closes it."""
    max_results: int | None = None
    min_score: float | None = None
    source: str | None = None
    """`memory`, `sessions` or `facts`."""
    since: date | None = None
    before: date | None = None
    path: str | None = None
    scopes: tuple[str, ...] = ()

    @classmethod
    def open(
        cls,
        workspace: Path | str | None = None,
        *,
        settings: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
        **narrowed: Unpack[Narrowed],
    ) -> Self:
        """Open the memory of a workspace for a retriever that is closed with it.

        Args:
            workspace: as in `Memory.open`, like the next two.
            settings: win over every file and variable.
            environ: read instead of the process' environment.
            narrowed: narrow every question, as in `Memory.search`.

        Raises:
            WorkspaceError: there is no such folder.
            ConfigError: a setting is wrong.
            StoreError: the index cannot be used.

        """
        memory = Memory.open(workspace, settings=settings, environ=environ)
        try:
            return cls.model_validate({"memory": memory, **narrowed})
        except BaseException:
            memory.close()
            raise

    def close(self) -> None:
        """Close the memory."""
        self.memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # The asynchronous way is the base class': it calls this in a thread.
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        del run_manager
        narrowed = cast(Narrowed, {name: getattr(self, name) for name in Narrowed.__annotations__})
        return [
            Document(id=passage.id, page_content=passage.text, metadata=dict(passage.metadata))
            for passage in ask(self.memory, query, narrowed=narrowed)
        ]
