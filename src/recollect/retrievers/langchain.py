"""A LangChain retriever that returns a Memory's hits as Documents.

from recollect.retrievers.langchain import RecollectRetriever

with RecollectRetriever.open("path/to/workspace", max_results=4) as retriever:
    documents = retriever.invoke("what did we decide about backups?")
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

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

from pydantic import Field

from recollect.memory import Memory  # noqa: TC001 - pydantic reads the type of a field
from recollect.retrievers.retrieve import OwnsMemory, retrieve
from recollect.types import SearchRequest

if TYPE_CHECKING:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun


class RecollectRetriever(OwnsMemory, BaseRetriever):
    """Searches a Memory, from any thread; `ainvoke` never blocks the event loop.

    A Document's text is the whole chunk. Its metadata has path, start_line, end_line, citation,
    score, source, heading, date and id; `confident`, false for a weak match; and
    `degraded`, a sentence if part of the search did not run, which is also logged.
    """

    memory: Memory = Field(repr=False, exclude=True)
    """Its owner closes it."""
    request: Any = Field(repr=False, exclude=True)

    def __init__(
        self,
        memory: Memory,
        **arguments: Any,  # noqa: ANN401 - the fields of a SearchRequest
    ) -> None:
        """Store the memory, and fields of `SearchRequest` that apply to every query."""
        super().__init__(memory=memory, request=SearchRequest("", **arguments))  # type: ignore[call-arg]  # pydantic

    # The base class's asynchronous method calls this in a thread.
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        del run_manager
        return [
            Document(id=str(metadata["id"]), page_content=hit.text, metadata=metadata)
            for hit, metadata in retrieve(self.memory, replace(self.request, query=query))
        ]
