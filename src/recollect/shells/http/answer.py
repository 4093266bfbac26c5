"""Answers in JSON, as UTF-8 whatever a file is called."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recollect.shells.render.search import Json


class JsonAnswer(Response):
    """One JSON document."""

    media_type = "application/json"

    def __init__(
        self, shape: Json, *, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        # Names of files may hold bytes that are no text at all.
        text = json.dumps(shape, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        super().__init__(text.encode("utf-8", "replace"), status, headers=dict(headers or {}))
