"""A vendor's server as the settings reach it: its address, its key, requests and their failures."""

from __future__ import annotations

import json
import random
import threading
import time
from dataclasses import field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from recollect.errors import (
    ProviderBusyError,
    ProviderError,
    ProviderSetupError,
    QuotaError,
    RequestRefusedError,
)
from recollect.providers.keys import hide_key, is_reference, variable_of
from recollect.providers.remote.pace import UNREACHABLE_ATTEMPTS, Pace, TryAgainError, wait_seconds
from recollect.providers.remote.refusal import read_refusal
from recollect.records import dataclass
from recollect.text.redact import redact_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from recollect.providers.keys import Variables
    from recollect.providers.options import ChatOptions, RemoteOptions
    from recollect.providers.remote.connection import HttpClient, HttpResponse
    from recollect.providers.remote.pace import Patience
    from recollect.providers.remote.refusal import Refusal

_LEAST_SECONDS = 0.1
_QUOTED_CHARS = 300  # of the server's words in a message
_SUCCESS = range(200, 300)
_REDIRECTS = range(300, 400)
_REFUSED = range(400, 500)
_BUSY = (408, 409, 425, 429)
_KEY_REFUSED = (401, 403)
_NOT_FOUND = (404, 405, 410)
_MODEL_REFUSED = (400, 404, 422)
_JSON = {"content-type": "application/json"}


def bearer(key: str | None) -> Mapping[str, str]:
    """Return the header in which most vendors expect the key."""
    return {"authorization": f"Bearer {key}"} if key else {}


@dataclass(frozen=True, slots=True)
class Vendor:
    """Where a vendor's servers are, and which key they take."""

    name: str
    base_url: str
    key_variable: str
    needs_key: bool = True
    """False if a key is sent only when there is one."""
    headers: Callable[[str | None], Mapping[str, str]] = bearer
    """Returns the headers that carry the key."""
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
class ApiCall:
    """One request: a path below the base URL, and a JSON body."""

    path: str
    body: Mapping[str, object] = field(default_factory=dict)


def quota_error(message: str) -> QuotaError:
    """Return the error for an account without money or quota."""
    return QuotaError(
        message,
        action="Top up the account, wait for the quota to renew, or choose another provider.",
    )


class ModelServer:
    """One server for one model. Connects on first use; safe to use from several threads."""

    def __init__(
        self,
        vendor: Vendor,
        options: RemoteOptions | ChatOptions,
        *,
        variables: Variables,
        model: str,
    ) -> None:
        self._vendor = vendor
        self._options = options
        self._variables = variables
        self._model = model
        self.pace = Pace()
        self._client: HttpClient | None = None
        self._lock = threading.Lock()
        self._chance = random.Random()  # noqa: S311 - jitter, not a secret

    @property
    def base_url(self) -> str:
        """Return the address in use."""
        return self._vendor.address(self._options.base_url, self._variables)

    @property
    def is_vendors_own(self) -> bool:
        """Return whether the address is the vendor's own."""
        return self.base_url == self._vendor.base_url.rstrip("/")

    def key(self) -> str | None:
        """Return the key to send; None if none is needed."""
        reference, setting = self._options.api_key, f"{self._options.section}.api_key"
        if reference is not None and not is_reference(reference):
            raise ProviderSetupError(
                f"{setting} is not the name of a variable.",
                action=f"Put the key into an environment variable and set {setting} to env:NAME.",
            )
        name, key = self._key_name, self._key
        is_needed = reference is not None or (self._vendor.needs_key and self.is_vendors_own)
        if name and key is None and is_needed:
            raise ProviderSetupError(
                f"{self._vendor.name} needs a key, but the variable {name} is not set.",
                action=f"Set {name}, or choose another provider.",
            )
        if key is not None and not (key.isascii() and key.isprintable()):
            # No header can carry it, and the HTTP library's error would quote it.
            raise ProviderSetupError(
                f"The key in {name} contains invalid characters.",
                action=f"Set {name} again: it may contain quotes or a line break.",
            )
        return key

    @property
    def _key_name(self) -> str | None:
        """Return the variable that holds the key, if one is to be sent."""
        if self._options.api_key is not None:
            return variable_of(self._options.api_key)
        # The vendor's key goes to another address only if the settings say so.
        return None if self._options.base_url else self._vendor.key_variable

    @property
    def _key(self) -> str | None:
        return self._variables.get(self._key_name) if self._key_name else None

    def quotable(self, text: str) -> str:
        """Return a server's words without the key, then shortened: a cut key would be shown."""
        return hide_key(text, key=self._key)[:_QUOTED_CHARS]

    def post(self, path: str, body: object, *, patience: Patience) -> object:
        """Send a JSON body and return the parsed response."""
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        return self.send("POST", path, content=content, headers=_JSON, patience=patience)

    def send(  # noqa: PLR0913 - what a request consists of
        self,
        method: str,
        path: str,
        *,
        patience: Patience,
        content: bytes = b"",
        headers: Mapping[str, str] | None = None,
        is_json: bool = True,
    ) -> object:
        """Send a request; return what the response says, or its bytes if that is not JSON."""
        sent = {**self._vendor.headers(self.key()), **(headers or {})}
        self._wait_turn(patience)
        deadline = time.monotonic() + patience.total_seconds
        attempt = 1
        while True:
            seconds = max(deadline - time.monotonic(), _LEAST_SECONDS)
            try:
                response = self._exchange(method, path, content, headers=sent, seconds=seconds)
                return self._read(response, is_json=is_json)
            except TryAgainError as again:
                self._wait_before_retry(
                    again, patience=patience, attempt=attempt, deadline=deadline
                )
                self._wait_turn(patience)
                if time.monotonic() > deadline:
                    raise self._gave_up(again) from None
            attempt += 1

    def close(self) -> None:
        """Close the connections and end all waiting."""
        self.pace.stop()
        with self._lock:
            if self._client is not None:
                self._client.close()

    def _exchange(
        self, method: str, path: str, content: bytes, *, headers: Mapping[str, str], seconds: float
    ) -> HttpResponse:
        """Send a request once: the one place where everything passes that is sent to a server."""
        from recollect.providers.remote.connection import (  # noqa: PLC0415 - httpx: 60 ms
            HttpClient,
        )

        with self._lock:
            if self._client is None:
                self._client = HttpClient()
        try:
            return self._client.exchange(
                method,
                f"{self.base_url}/{path}",
                headers=headers,
                content=redact_rows(content) if self._options.redact else content,
                seconds=min(self._options.timeout_seconds, seconds),
            )
        except ValueError as error:
            raise ProviderSetupError(
                f"The address of {self._vendor.name} cannot be used ({self.quotable(str(error))}).",
                action=f"Set {self._url_setting} to an address such as https://host/v1.",
            ) from None

    def _read(self, response: HttpResponse, *, is_json: bool) -> object:
        """Return what a response says, or its bytes if it need not be JSON."""
        if response.status not in _SUCCESS:
            raise self._failure(response)
        try:
            return json.loads(response.body) if is_json else response.body
        except (ValueError, RecursionError):
            quoted = self._quoted(_refusal(response))
        raise TryAgainError(
            f"answered with something that is not JSON{quoted}",
            most_attempts=UNREACHABLE_ATTEMPTS,
            hint=f" Check that {self._url_setting} is right.",
        )

    def _wait_turn(self, patience: Patience) -> None:
        in_time = self.pace.wait_turn(most_seconds=patience.turn_seconds)
        self._check_stopped()
        if not in_time:
            raise ProviderBusyError(
                f"The rate limit for {self._vendor.name} is used up.",
                action="Try again in a minute.",
            )

    def _check_stopped(self) -> None:
        if self.pace.is_stopped:
            raise ProviderBusyError("The request was stopped.", action="Try again.")

    def _wait_before_retry(
        self, again: TryAgainError, *, patience: Patience, attempt: int, deadline: float
    ) -> None:
        self._check_stopped()
        requested = again.wait_seconds
        wait = wait_seconds(patience, attempt=attempt, requested=requested, chance=self._chance)
        # Compare the requested wait without the random extension.
        is_long = (requested or 0.0) > patience.longest_seconds
        is_late = time.monotonic() + wait > deadline
        if attempt >= min(patience.attempts, again.most_attempts) or is_long or is_late:
            raise self._gave_up(again) from None
        if requested:
            self.pace.hold(wait)
        else:
            self.pace.wait(wait)

    def _gave_up(self, again: TryAgainError) -> ProviderBusyError:
        message = f"{self._vendor.name} {hide_key(again.reason, key=self._key)}."
        if again.is_unreachable and self._vendor.start_action:
            action = self._vendor.start_action.format(setting=self._url_setting)
            return ProviderBusyError(message, action=action)
        when = f"in {again.wait_seconds:.0f} seconds" if again.wait_seconds else "later"
        hint = again.hint or f" Check {self._url_setting} if it keeps failing."
        return ProviderBusyError(message, action=f"Try again {when}.{hint}")

    def _failure(self, response: HttpResponse) -> Exception:
        status, refusal, name = response.status, _refusal(response), self._vendor.name
        quoted = self._quoted(refusal)
        if status in _REDIRECTS:
            from recollect.providers.remote.connection import host_of  # noqa: PLC0415

            target = host_of(response.headers.get("location", "")) or "another address"
            return ProviderSetupError(
                f"{name} redirects requests to {self.quotable(target)}.",
                action=f"Set {self._url_setting} to the final address.",
            )
        if refusal.is_spent:
            return quota_error(f"The quota of {name} is used up{quoted}.")
        is_refused = status in _REFUSED and status not in _BUSY
        if is_refused or refusal.is_too_long:
            return self._refused(status, f"{name} answered {status}{quoted}.", refusal)
        return TryAgainError(f"answered {status}{quoted}", wait_seconds=refusal.wait_seconds)

    def _refused(self, status: int, message: str, refusal: Refusal) -> ProviderError:
        if status in _KEY_REFUSED or refusal.is_key_refused:
            return ProviderSetupError(message, action=self._key_action())
        setting = self._options.model_setting
        if status in _MODEL_REFUSED and refusal.is_model_unknown:
            action = self._vendor.model_action.format(model=self._model, setting=setting)
            return ProviderSetupError(message, action=action)
        if status in _NOT_FOUND:
            action = f"Check the settings `{setting}` and `{self._url_setting}`."
            return ProviderSetupError(message, action=action)
        return RequestRefusedError(
            message, action=f"Check the setting `{setting}`, or send less at once."
        )

    def _key_action(self) -> str:
        setting = f"{self._options.section}.api_key"
        if self._key is None:
            return (
                f"No key was sent. Name the variable that holds it, as in {setting} = "
                '"env:OPENAI_API_KEY".'
            )
        return f"Check the key in {self._key_name}."

    @property
    def _url_setting(self) -> str:
        return f"{self._options.section}.base_url"

    def _quoted(self, refusal: Refusal) -> str:
        return f" ({self.quotable(refusal.message)})" if refusal.message else ""


def _refusal(response: HttpResponse) -> Refusal:
    return read_refusal(
        response.status, response.body, headers=response.headers, now=datetime.now(tz=UTC)
    )
