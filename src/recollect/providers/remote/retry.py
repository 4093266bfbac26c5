"""Sends a request until it is answered, refused, or not worth another attempt."""

from __future__ import annotations

import json
import random
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import httpx

from recollect.errors import (
    ProviderBusyError,
    ProviderError,
    ProviderSetupError,
    RequestRefusedError,
)
from recollect.providers.keys import hide_key
from recollect.providers.remote.connection import Connections, CutError, HttpRequest, OversizeError
from recollect.providers.remote.pace import UNREACHABLE_ATTEMPTS, wait_seconds
from recollect.providers.remote.refusal import Refusal, read_refusal
from recollect.providers.remote.server import quota_error
from recollect.text.redact import redact_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from recollect.providers.remote.connection import HttpResponse
    from recollect.providers.remote.pace import Patience
    from recollect.providers.remote.server import ModelServer

Read = TypeVar("Read")

_LEAST_SECONDS = 0.1
_QUOTED_CHARS = 300  # of the server's words in a message
_SUCCESS = range(200, 300)
_REDIRECTS = range(300, 400)
_REFUSED = range(400, 500)
_BUSY = (408, 409, 425, 429)
_KEY_REFUSED = (401, 403)
_NOT_FOUND = (404, 405, 410)
_MODEL_REFUSED = (400, 404, 422)


class Sender:
    """Sends requests to one server. Safe to use from several threads."""

    def __init__(self, server: ModelServer, *, key: str | None) -> None:
        self._server = server
        self._key = key
        self._name = server.vendor.name
        self._pace = server.pace
        self._advice = server.advice
        self._connections = Connections()
        self._chance = random.Random()  # noqa: S311 - jitter, not a secret

    def post(self, path: str, body: object, *, patience: Patience, tokens: int = 0) -> object:
        """Send a JSON body and return the parsed response.

        Raises:
            ProviderError: the request failed; the subclass says what to do.

        """
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        request = self._request("POST", path, content, {"content-type": "application/json"})
        return self._until_read(request, _parsed, patience=patience, tokens=tokens)

    def send(  # noqa: PLR0913 - what a request consists of
        self,
        method: str,
        path: str,
        *,
        patience: Patience,
        content: bytes = b"",
        headers: Mapping[str, str] | None = None,
        is_json: bool = True,
    ) -> bytes:
        """Send a request and return the body of its response.

        Raises:
            ProviderError: the request failed; the subclass says what to do.

        """
        request = self._request(method, path, content, headers or {})
        read = _json_only if is_json else bytes
        return self._until_read(request, read, patience=patience, tokens=0)

    def close(self) -> None:
        """Close the connections and end all waiting."""
        self._pace.stop()
        self._connections.close()

    def _request(
        self, method: str, path: str, content: bytes, headers: Mapping[str, str]
    ) -> HttpRequest:
        """Return a request: the one place where everything passes that is sent to a server."""
        url = f"{self._server.base_url}/{path}"
        if self._server.access.redact:
            content = redact_rows(content)
        return HttpRequest(method, url, {**self._server.headers(self._key), **headers}, content)

    def _until_read(
        self,
        request: HttpRequest,
        read: Callable[[bytes], Read],
        *,
        patience: Patience,
        tokens: int,
    ) -> Read:
        """Send the request until its response can be read."""
        self._wait_turn(tokens, patience)
        deadline = time.monotonic() + patience.total_seconds
        attempt = 1
        while True:
            try:
                return self._once(request, read, deadline=deadline)
            except _TryAgain as again:
                self._wait_before_retry(
                    again, patience=patience, attempt=attempt, deadline=deadline
                )
                self._wait_turn(tokens, patience)
                if time.monotonic() > deadline:
                    raise self._gave_up(again) from None
            attempt += 1

    def _wait_turn(self, tokens: int, patience: Patience) -> None:
        in_time = self._pace.wait_turn(tokens, most_seconds=patience.turn_seconds)
        self._check_stopped()
        if not in_time:
            raise ProviderBusyError(
                f"The rate limit for {self._name} is used up.",
                action=f"Try again in a minute, {self._advice.rate}",
            )

    def _check_stopped(self) -> None:
        if self._pace.is_stopped:
            raise ProviderBusyError(self._advice.stopped, action=self._advice.restart)

    def _wait_before_retry(
        self, again: _TryAgain, *, patience: Patience, attempt: int, deadline: float
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
            self._pace.hold(wait)
        else:
            self._pace.wait(wait)

    def _gave_up(self, again: _TryAgain) -> ProviderBusyError:
        message = f"{self._name} {again.reason}."
        start_action = self._server.vendor.start_action
        if again.is_unreachable and start_action:
            action = start_action.format(setting=self._advice.url_setting)
            return ProviderBusyError(message, action=action)
        when = f"in {again.wait_seconds:.0f} seconds" if again.wait_seconds else "later"
        return ProviderBusyError(
            message, action=f"Try again {when}, {self._advice.retry}{again.hint}"
        )

    def _once(
        self, request: HttpRequest, read: Callable[[bytes], Read], *, deadline: float
    ) -> Read:
        remaining = max(deadline - time.monotonic(), _LEAST_SECONDS)
        seconds = min(self._server.access.timeout_seconds, remaining)
        response = self._exchange(request, seconds=seconds)
        if response.status not in _SUCCESS:
            raise self._failure(response)
        try:
            return read(response.body)
        except (ValueError, RecursionError):
            quoted = self._quoted(self._refusal(response))
        raise _TryAgain(
            f"answered with something that is not JSON{quoted}",
            most_attempts=UNREACHABLE_ATTEMPTS,
            hint=f" Check that {self._advice.url_setting} is right.",
        )

    def _exchange(self, request: HttpRequest, *, seconds: float) -> HttpResponse:
        """Send a request once.

        The library's errors may quote what the server sent, even the key, so they are never
        attached to ours.
        """
        with self._connections.one() as connection:
            try:
                return connection.exchange(request, seconds=seconds)
            except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as error:
                raise self._bad_address(error) from None
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                raise _TryAgain(
                    f"cannot be reached at {_host(request.url)} ({self._safe(str(error))})",
                    most_attempts=UNREACHABLE_ATTEMPTS,
                    is_unreachable=True,
                ) from None
            except (CutError, httpx.TimeoutException):
                reason = f"did not answer in {seconds:.3g} s"
            except OversizeError:
                reason = "answered with more than 256 MB"
            except httpx.HTTPError as error:
                reason = f"broke off ({self._safe(str(error)) or type(error).__name__})"
        raise _TryAgain(reason)

    def _failure(self, response: HttpResponse) -> Exception:
        status, refusal = response.status, self._refusal(response)
        quoted = self._quoted(refusal)
        if status in _REDIRECTS:
            target = _host(response.headers.get("location", "")) or "another address"
            return ProviderSetupError(
                f"{self._name} redirects requests to {self._safe(target)}.",
                action=f"Set {self._advice.url_setting} to the final address.",
            )
        if refusal.is_spent:
            message = f"The quota of {self._name} is used up{quoted}."
            return quota_error(message, advice=self._advice)
        is_refused = status in _REFUSED and status not in _BUSY
        if is_refused or refusal.is_too_long:
            return self._refused(status, quoted, refusal)
        return _TryAgain(f"answered {status}{quoted}", wait_seconds=refusal.wait_seconds)

    def _refused(self, status: int, quoted: str, refusal: Refusal) -> ProviderError:
        message = f"{self._name} answered {status}{quoted}."
        if status in _KEY_REFUSED or refusal.is_key_refused:
            return ProviderSetupError(message, action=self._key_action())
        if status in _MODEL_REFUSED and refusal.is_model_unknown:
            action = self._server.vendor.model_action.format(
                model=self._server.model, setting=self._advice.model_setting
            )
            return ProviderSetupError(message, action=action)
        if status in _NOT_FOUND:
            advice = self._advice
            action = f"Check the settings `{advice.model_setting}` and `{advice.url_setting}`."
            return ProviderSetupError(message, action=action)
        return RequestRefusedError(message, action=self._advice.refused)

    def _key_action(self) -> str:
        setting = self._advice.key_setting
        if self._key is None:
            return (
                f"No key was sent. Name the variable that holds it, as in {setting} = "
                '"env:OPENAI_API_KEY".'
            )
        return f"Check the key in {self._server.key_name or setting}."

    def _refusal(self, response: HttpResponse) -> Refusal:
        return read_refusal(
            response.status, response.body, headers=response.headers, now=datetime.now(tz=UTC)
        )

    def _bad_address(self, error: Exception) -> ProviderSetupError:
        return ProviderSetupError(
            f"The address of {self._name} cannot be used ({self._safe(str(error))}).",
            action=f"Set {self._advice.url_setting} to an address such as https://host/v1.",
        )

    def _quoted(self, refusal: Refusal) -> str:
        return f" ({self._safe(refusal.message)})" if refusal.message else ""

    def _safe(self, text: str) -> str:
        """Return the text without the key, then shortened: a cut key would not be recognised."""
        return hide_key(text, key=self._key)[:_QUOTED_CHARS]


class _TryAgain(Exception):  # noqa: N818 - not an error yet
    """This attempt failed; another one may succeed."""

    def __init__(
        self,
        reason: str,
        *,
        wait_seconds: float | None = None,
        most_attempts: int = 1000,
        hint: str = "",
        is_unreachable: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait_seconds = wait_seconds
        self.most_attempts = most_attempts
        self.hint = hint
        self.is_unreachable = is_unreachable


def _parsed(body: bytes) -> object:
    parsed: object = json.loads(body)
    return parsed


def _json_only(body: bytes) -> bytes:
    json.loads(body)
    return body


def _host(url: str) -> str:
    """Return the host and port of an address, without user name and password."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:
        return ""
