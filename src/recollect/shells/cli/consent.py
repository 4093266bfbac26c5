"""Says what goes to a server before the first texts of a memory do, and asks on a terminal.

Only a provider that your own settings name gets that far. Without a terminal, or if this very
command names it, naming it was the permission.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from recollect.config.load import ARGUMENTS, ENVIRONMENT
from recollect.shells.cli.output import confirm, write_text
from recollect.shells.render.shared import plural

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from recollect.config.schema import Config
    from recollect.types import Sending


def may_send(
    sending: Sending,
    config: Config,
    *,
    question: Callable[[], AbstractContextManager[object]] | None,
) -> bool:
    """Return whether the first texts may be sent; without `question` nobody can be asked."""
    write_text(_announcement(sending), to_stderr=True)
    key = "provider" if sending.provider == config.provider.provider else "fallback"
    if not is_to_be_asked(config, key):
        return True
    if question is None:
        return False
    with question():
        return confirm("Send this?")


def is_to_be_asked(config: Config, setting: str) -> bool:
    """Return whether a person is there, and this command itself does not name the server."""
    is_of_this_command = config.origins.get(setting) in (ENVIRONMENT, ARGUMENTS)
    return not is_of_this_command and sys.stdin.isatty() and sys.stderr.isatty()


def _announcement(sending: Sending) -> str:
    where = f"{sending.provider} ({sending.address or 'its own address'})"
    if not sending.texts:
        return f"A text goes to {where} to be embedded by {sending.model}."
    verb = "goes" if sending.texts == 1 else "go"
    return (
        f"{plural(sending.texts, 'passage')} of this memory {verb} to {where} to be embedded by "
        f"{sending.model}, and later what changes and what you ask."
    )
