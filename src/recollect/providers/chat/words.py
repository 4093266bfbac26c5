"""What to do about a failed question: the sender's errors, said for one who asked for a text.

The sender words its advice for embedding; the kinds and the server's own words are the same.
"""

from __future__ import annotations

import re

from recollect.errors import (
    ProviderBusyError,
    ProviderError,
    ProviderSetupError,
    QuotaError,
    RequestRefusedError,
)

_STOPPED = "was stopped"
# Anthropic says it with 400: platform.claude.com/docs/en/api/errors.
_SPENT = re.compile(r"credit balance is too low|specified API usage limits", re.IGNORECASE)
_TRY_AGAIN = re.compile(r"Try again (in [0-9]+ seconds|later|in a minute)")
_SETTINGS = {"remote.base_url": "base_url", "remote.api_key": "api_key", "`model`": "model"}


def reworded(error: ProviderError, *, section: str) -> ProviderError:
    """Return the same error with what to do about a question, naming a section of the settings."""
    if isinstance(error, QuotaError) or _SPENT.search(error.message):
        return QuotaError(
            error.message,
            action="Top up the account, wait until the quota is renewed, or set "
            f"{section}.provider to another one.",
        )
    if isinstance(error, ProviderBusyError) and _STOPPED in error.message:
        return ProviderBusyError("The question was stopped.", action="Ask again to go on.")
    if isinstance(error, ProviderBusyError):
        when = _TRY_AGAIN.match(error.action)
        return ProviderBusyError(
            error.message,
            action=f"{when[0] if when else 'Try again later'}, and check {section}.base_url "
            "if it stays so.",
        )
    if isinstance(error, RequestRefusedError):
        return RequestRefusedError(
            error.message, action=f"Check {section}.model, or send less at once."
        )
    if isinstance(error, ProviderSetupError):
        return ProviderSetupError(error.message, action=_in_section(error.action, section))
    return error


def _in_section(action: str, section: str) -> str:
    for told, name in _SETTINGS.items():
        own = f"{section}.{name}"
        action = action.replace(told, f"`{own}`" if told.startswith("`") else own)
    return action
