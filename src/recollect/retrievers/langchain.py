"""A LangChain retriever that returns a Memory's hits as Documents.

from recollect.retrievers.langchain import RecollectRetriever

with RecollectRetriever.open("path/to/workspace", max_results=4) as retriever:
    documents = retriever.invoke("what did we decide about backups?")
"""

from __future__ import annotations

from datetime import date  # noqa: TC003 - pydantic reads the field types when the class is made
from typing import TYPE_CHECKING, cast

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

from recollect.memory import Memory  # noqa: TC001 - a field's type, as above
from recollect.retrievers.retrieve import OwnsMemory, SearchArguments, retrieve

if TYPE_CHECKING:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun


class RecollectRetriever(OwnsMemory, BaseRetriever):
    """Searches a Memory, from any thread; `ainvoke` never blocks the event loop.

    A Document's text is the whole chunk. Its metadata has path, start_line, end_line, citation,
    score, source, heading, date and id; `confident`, false when no hit stands out from noise; and
    `degraded`, a sentence if part of the search did not run, which is also logged.
    """

    model_config = ConfigDict(extra="forbid")  # else a misspelled filter would be ignored

    memory: Memory = Field(repr=False, exclude=True)
    """Its owner closes it."""
    max_results: int | None = None
    min_score: float | None = None
    source: str | None = None
    """`memory`, `sessions` or `facts`."""
    since: date | str | None = None
    before: date | str | None = None
    path: str | None = None
    scopes: tuple[str, ...] = ()

    # The base class's asynchronous method calls this in a thread.
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        del run_manager
        arguments = cast(
            "SearchArguments",
            {name: getattr(self, name) for name in SearchArguments.__annotations__},
        )
        return [
            Document(id=hit.id, page_content=hit.text, metadata=dict(hit.metadata))
            for hit in retrieve(self.memory, query, arguments=arguments)
        ]
