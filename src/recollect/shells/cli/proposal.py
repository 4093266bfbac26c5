"""Commands that are proposed as a next step, so that they can be run as they are printed."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def program(common: Mapping[str, object]) -> str:
    """Return how a command begins that means the same memory: with the workspace, if one was named.

    Facts stand in the workspace, so nothing else is needed to find them.
    """
    workspace = common["workspace"]
    return "recollect" if workspace is None else f"recollect -w {shlex.quote(str(workspace))}"
