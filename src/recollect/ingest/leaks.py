"""Finds secrets in the files of a memory, without changing anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.ingest.read import UnreadableError
from recollect.reports import FoundSecret
from recollect.text.secrets import find_secrets
from recollect.types import Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.ingest.source import Source
    from recollect.types import Progress


def find_leaks(sources: Sequence[Source], *, progress: Progress) -> list[FoundSecret]:
    """Return the place and kind of each secret in the files of some sources.

    A file that cannot be read is left out; `status` names it.
    """
    found = [(source, each) for source in sources for each in source.find()[0]]
    secrets: list[FoundSecret] = []
    for done, (source, each) in enumerate(found):
        progress(Step("read", done, len(found)))
        try:
            text = source.take(each).document.text
        except UnreadableError:
            continue
        secrets += [
            FoundSecret(each.path, text.count("\n", 0, secret.start) + 1, secret.kind)
            for secret in find_secrets(text)
        ]
    return secrets
