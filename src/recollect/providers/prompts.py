"""The prefixes that known models expect before a query and before a document.

A model that was trained with prefixes finds half as much without them, and servers do not add them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.records import dataclass
from recollect.types import Role, digest_of

if TYPE_CHECKING:
    from recollect.providers.options import ProviderOptions


@dataclass(frozen=True, slots=True)
class Prompts:
    """Prefixes of texts, by role."""

    query: str = ""
    document: str = ""

    def apply(self, text: str, *, role: Role) -> str:
        """Return the text with its prefix."""
        return (self.query if role is Role.QUERY else self.document) + text

    def changed_by(self, options: ProviderOptions) -> Prompts:
        """Return these prompts with the changes in the settings."""
        return Prompts(
            self.query if options.query_prefix is None else options.query_prefix,
            self.document if options.document_prefix is None else options.document_prefix,
        )

    @property
    def identity(self) -> str:
        """Return the part of a fingerprint that changes with the prompts."""
        if self == Prompts():
            return "plain"
        return digest_of(f"{self.query}\x1f{self.document}".encode())[:8]


_KNOWN: tuple[tuple[str, Prompts], ...] = (
    (r"nomic-embed-text", Prompts("search_query: ", "search_document: ")),
    (r"embeddinggemma", Prompts("task: search result | query: ", "title: none | text: ")),
    (
        r"arctic-embed|mxbai-embed",
        Prompts("Represent this sentence for searching relevant passages: "),
    ),
    (r"bge-.*-en", Prompts("Represent this sentence for searching relevant passages: ")),
    (r"(multilingual-)?e5-", Prompts("query: ", "passage: ")),
    (
        r"qwen3-embedding",
        Prompts(
            "Instruct: Given a web search query, retrieve relevant passages that answer the "
            "query\nQuery:"
        ),
    ),
)


def prompts_of(model: str, options: ProviderOptions) -> Prompts:
    """Return the prompts of a model, by its name, with the changes in the settings."""
    known = next((own for name, own in _KNOWN if re.search(name, model.lower())), Prompts())
    return known.changed_by(options)
