"""A vendor's server as the settings reach it: its address, its key, and what to tell the user."""

from __future__ import annotations

import threading
from dataclasses import field
from typing import TYPE_CHECKING

from recollect.errors import ProviderSetupError, QuotaError
from recollect.providers.keys import hide_key, is_reference, variable_of
from recollect.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from recollect.providers.keys import Variables
    from recollect.providers.remote.pace import Pace
    from recollect.providers.remote.retry import Sender


@dataclass(frozen=True, slots=True)
class Vendor:
    """Where a vendor's servers are, and which key they take."""

    name: str
    base_url: str
    key_variable: str | None = None
    """Variable with the key; None if no key is needed."""
    needs_key: bool = True
    """False if a key is sent only when there is one."""
    url_variable: str | None = None
    """The vendor's own variable for another address."""
    url_of: Callable[[str], str] = str
    """Turns the value of that variable into a URL."""
    model_action: str = "Check the setting `{setting}`."
    """What to do if the server does not have `{model}`."""
    start_action: str = ""
    """What to do if nothing answers at an address on the user's own machine."""

    def address(self, base_url: str | None, variables: Variables) -> str:
        """Return the address: from the setting, else the vendor's variable, else the vendor."""
        named = variables.get(self.url_variable) if self.url_variable else None
        return (base_url or (self.url_of(named) if named else None) or self.base_url).rstrip("/")


@dataclass(frozen=True, slots=True)
class Advice:
    """The parts of messages that differ between embedding and chat."""

    section: str
    """Section of the settings, such as `remote` in `remote.base_url`."""
    model_setting: str
    other_provider: str
    """Follows "or "."""
    spent: str
    """Follows the action for a used-up quota."""
    stopped: str
    restart: str
    retry: str
    """Follows "Try again later, "."""
    rate: str
    """Follows "Try again in a minute, "."""
    refused: str

    @property
    def url_setting(self) -> str:
        """Return the setting of the address."""
        return f"{self.section}.base_url"

    @property
    def key_setting(self) -> str:
        """Return the setting of the key."""
        return f"{self.section}.api_key"


EMBEDDING_ADVICE = Advice(
    section="remote",
    model_setting="model",
    other_provider="choose another provider",
    spent="; then run `recollect index`, which continues where it stopped",
    stopped="Embedding was stopped.",
    restart="Run it again to continue.",
    retry="and run `recollect status --deep` to see whether the server answers. "
    "Nothing that was embedded is lost.",
    rate="or raise remote.requests_per_minute and remote.tokens_per_minute if the vendor allows "
    "more.",
    refused="Check the settings `model` and `dimensions`.",
)
CHAT_ADVICE = Advice(
    section="llm",
    model_setting="llm.model",
    other_provider="set llm.provider to another one",
    spent="",
    stopped="The question was stopped.",
    restart="Ask again.",
    retry="and check llm.base_url if it keeps failing.",
    rate="and check llm.base_url if it keeps failing.",
    refused="Check llm.model, or send less at once.",
)


def quota_error(message: str, *, advice: Advice) -> QuotaError:
    """Return the error for an account without money or quota."""
    return QuotaError(
        message,
        action="Top up the account, wait for the quota to renew, or "
        f"{advice.other_provider}{advice.spent}.",
    )


@dataclass(frozen=True, slots=True)
class Access:
    """How the settings reach a server."""

    base_url: str | None
    """Address; None is the vendor's, or the one in its variable."""
    api_key: str | None
    """`env:NAME`; None is the vendor's variable. Never the key itself."""
    timeout_seconds: float
    variables: Variables
    redact: bool = True
    """Whether secrets in texts are hidden before they are sent."""


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One request: a path below the base URL, and a JSON body."""

    path: str
    body: Mapping[str, object] = field(default_factory=dict)


def bearer(key: str | None) -> Mapping[str, str]:
    """Return the header in which most vendors expect the key."""
    return {"authorization": f"Bearer {key}"} if key else {}


class ModelServer:
    """One server for one model. Connects on first use; safe to use from several threads."""

    def __init__(  # noqa: PLR0913 - what a server consists of
        self,
        vendor: Vendor,
        access: Access,
        *,
        model: str,
        headers: Callable[[str | None], Mapping[str, str]],
        pace: Pace,
        advice: Advice,
    ) -> None:
        self.vendor = vendor
        self.access = access
        self.model = model
        self.headers = headers
        self.pace = pace
        self.advice = advice
        self._sender: Sender | None = None
        self._lock = threading.Lock()

    @property
    def base_url(self) -> str:
        """Return the address in use."""
        return self.vendor.address(self.access.base_url, self.access.variables)

    @property
    def is_vendors_own(self) -> bool:
        """Return whether the address is the vendor's own."""
        return self.base_url == self.vendor.base_url.rstrip("/")

    @property
    def key_name(self) -> str | None:
        """Return the variable that holds the key, if one is to be sent."""
        if self.access.api_key is not None:
            return variable_of(self.access.api_key)
        # The vendor's key goes to another address only if the settings say so.
        return None if self.access.base_url else self.vendor.key_variable

    def key(self) -> str | None:
        """Return the key to send; None if none is needed.

        Raises:
            ProviderSetupError: the key is missing or cannot be sent.

        """
        reference, setting = self.access.api_key, self.advice.key_setting
        if reference is not None and not is_reference(reference):
            raise ProviderSetupError(
                f"{setting} is not the name of a variable.",
                action=f"Put the key into an environment variable and set {setting} to env:NAME.",
            )
        name = self.key_name
        key = self.access.variables.get(name) if name else None
        is_needed = reference is not None or (self.vendor.needs_key and self.is_vendors_own)
        if name and key is None and is_needed:
            raise ProviderSetupError(
                f"{self.vendor.name} needs a key, but the variable {name} is not set.",
                action=f"Set {name}, or {self.advice.other_provider}.",
            )
        if key is not None and not (key.isascii() and key.isprintable()):
            # No header can carry it, and the HTTP library's error would quote it.
            raise ProviderSetupError(
                f"The key in {name} contains invalid characters.",
                action=f"Set {name} again: it may contain quotes or a line break.",
            )
        return key

    def without_key(self, text: str) -> str:
        """Return a server's text without the key, in case it quotes it."""
        name = self.key_name
        return hide_key(text, key=self.access.variables.get(name) if name else None)

    def sender(self) -> Sender:
        """Return the connection to the server; nothing is sent yet.

        Raises:
            ProviderSetupError: the key is missing or cannot be sent.

        """
        from recollect.providers.remote.retry import Sender  # noqa: PLC0415 - httpx: 60 ms

        with self._lock:
            if self._sender is None:
                self._sender = Sender(self, key=self.key())
            return self._sender

    def close(self) -> None:
        """Close the connections and end all waiting."""
        self.pace.stop()
        with self._lock:
            sender = self._sender
        if sender is not None:
            sender.close()
