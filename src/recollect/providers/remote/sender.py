"""Sending one request until it is answered, refused for good, or not worth trying any longer."""

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
    QuotaError,
    RequestRefusedError,
)
from recollect.providers.keys import redact
from recollect.providers.remote.connection import Connections, CutError, OversizeError, Request
from recollect.providers.remote.refusal import Refusal, read_refusal
from recollect.providers.remote.retry import UNREACHABLE_ATTEMPTS, wait_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from recollect.providers.remote.connection import Answer
    from recollect.providers.remote.pace import Pace
    from recollect.providers.remote.retry import Patience

Read = TypeVar("Read")

_LEAST_SECONDS = 0.1
_SAID_CHARS = 300  # of others' words in a message
_SUCCESS = range(200, 300)
_REDIRECTS = range(300, 400)
_REFUSED = range(400, 500)
_BUSY = (408, 409, 425, 429)
_KEY_REFUSED = (401, 403)
_NOT_THERE = (404, 405, 410)
_MODEL_REFUSED = (400, 404, 422)


class Sender:
    """Speaks HTTP with one server. Safe to use from several threads."""

    def __init__(  # noqa: PLR0913 - what a connection is made of
        self,
        *,
        vendor: str,
        base_url: str,
        headers: Mapping[str, str],
        key: str | None,
        key_name: str,
        timeout_seconds: float,
        pace: Pace,
        model_action: str = "Check the setting `model`.",
        start_action: str = "",
    ) -> None:
        self._vendor = vendor
        self._base_url = base_url.rstrip("/")
        self._headers = headers
        self._key = key
        self._key_name = key_name
        self._timeout_seconds = timeout_seconds
        self._pace = pace
        self._model_action = model_action
        self._start_action = start_action
        self._connections = Connections()
        self._chance = random.Random()  # noqa: S311 - jitter, not a secret

    def post(self, path: str, body: object, *, patience: Patience, tokens: int = 0) -> object:
        """Send a JSON body and return the parsed answer.

        Raises:
            ProviderError: and its kinds, by what to do about it.

        """
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        request = self._request("POST", path, content, {"content-type": "application/json"})
        return self._until_read(request, _parsed, patience=patience, tokens=tokens)

    def send(  # noqa: PLR0913 - what a request is made of
        self,
        method: str,
        path: str,
        *,
        patience: Patience,
        content: bytes = b"",
        headers: Mapping[str, str] | None = None,
        tokens: int = 0,
        is_json: bool = True,
    ) -> bytes:
        """Send a request and return the body of its answer, asking again where that helps."""
        request = self._request(method, path, content, headers or {})
        read = _json_only if is_json else bytes
        return self._until_read(request, read, patience=patience, tokens=tokens)

    def close(self) -> None:
        """Close the connections and end all waiting."""
        self._pace.stop()
        self._connections.close()

    def _request(
        self, method: str, path: str, content: bytes, headers: Mapping[str, str]
    ) -> Request:
        url = path if "://" in path else f"{self._base_url}/{path}"
        return Request(method, url, {**self._headers, **headers}, content)

    def _until_read(
        self, request: Request, read: Callable[[bytes], Read], *, patience: Patience, tokens: int
    ) -> Read:
        """Ask until there is an answer that can be read."""
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
                f"{self._vendor} cannot be asked yet: the rate allowed is used up.",
                action="Try again in a minute, or raise remote.requests_per_minute and "
                "remote.tokens_per_minute if the vendor allows more.",
            )

    def _check_stopped(self) -> None:
        if self._pace.is_stopped:
            raise ProviderBusyError("Embedding was stopped.", action="Run it again to go on.")

    def _wait_before_retry(
        self, again: _TryAgain, *, patience: Patience, attempt: int, deadline: float
    ) -> None:
        self._check_stopped()
        asked = again.wait_seconds
        wait = wait_seconds(patience, attempt=attempt, asked=asked, chance=self._chance)
        # What is asked for counts, not the random part on top of it.
        too_long = (asked or 0.0) > patience.longest_seconds or time.monotonic() + wait > deadline
        if attempt >= min(patience.attempts, again.most_attempts) or too_long:
            raise self._gave_up(again) from None
        if asked:
            self._pace.hold(wait)
        else:
            self._pace.wait(wait)

    def _gave_up(self, again: _TryAgain) -> ProviderBusyError:
        when = f"in {again.wait_seconds:.0f} seconds" if again.wait_seconds else "later"
        if again.is_unreachable and self._start_action:
            return ProviderBusyError(f"{self._vendor} {again.reason}.", action=self._start_action)
        return ProviderBusyError(
            f"{self._vendor} {again.reason}.",
            action=f"Try again {when}, and run `recollect status --deep` to see whether it "
            f"answers{again.hint}. Nothing that was embedded is lost.",
        )

    def _once(self, request: Request, read: Callable[[bytes], Read], *, deadline: float) -> Read:
        remaining = max(deadline - time.monotonic(), _LEAST_SECONDS)
        answer = self._carry(request, seconds=min(self._timeout_seconds, remaining))
        if answer.status not in _SUCCESS:
            raise self._complaint(answer)
        try:
            return read(answer.body)
        except (ValueError, RecursionError):
            said = self._said(self._refusal(answer))
        raise _TryAgain(
            f"answered with something that is not JSON{said}",
            most_attempts=UNREACHABLE_ATTEMPTS,
            hint=" and whether remote.base_url is right",
        )

    def _carry(self, request: Request, *, seconds: float) -> Answer:
        """Bring one request there and its answer back.

        What the library says may hold what the server sent, the key too: its errors do not stay
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

    def _complaint(self, answer: Answer) -> Exception:
        status, refusal = answer.status, self._refusal(answer)
        said = self._said(refusal)
        if status in _REDIRECTS:
            target = _host(answer.headers.get("location", "")) or "another address"
            return ProviderSetupError(
                f"{self._vendor} sends requests on to {self._safe(target)}.",
                action="Set remote.base_url to the address that answers itself.",
            )
        if refusal.is_spent:
            return QuotaError(
                f"The quota of {self._vendor} is used up{said}.",
                action="Top up the account, wait until the quota is renewed, or choose another "
                "provider; then run `recollect index`: it goes on where it stopped.",
            )
        is_refused = status in _REFUSED and status not in _BUSY
        if is_refused or refusal.is_too_long:
            return self._refused(status, said, refusal)
        return _TryAgain(f"answered {status}{said}", wait_seconds=refusal.wait_seconds)

    def _refused(self, status: int, said: str, refusal: Refusal) -> ProviderError:
        message = f"{self._vendor} answered {status}{said}."
        if status in _KEY_REFUSED or refusal.is_key_refused:
            return ProviderSetupError(message, action=self._key_action())
        if status in _MODEL_REFUSED and refusal.is_model_unknown:
            return ProviderSetupError(message, action=self._model_action)
        if status in _NOT_THERE:
            return ProviderSetupError(
                message, action="Check the settings `model` and `remote.base_url`."
            )
        return RequestRefusedError(message, action="Check the settings `model` and `dimensions`.")

    def _key_action(self) -> str:
        if self._key is None:
            return (
                "No key was sent: name the variable that holds one, as in remote.api_key = "
                '"env:OPENAI_API_KEY".'
            )
        return f"Check the key in {self._key_name}."

    def _refusal(self, answer: Answer) -> Refusal:
        return read_refusal(
            answer.status, answer.body, headers=answer.headers, now=datetime.now(tz=UTC)
        )

    def _bad_address(self, error: Exception) -> ProviderSetupError:
        return ProviderSetupError(
            f"The address of {self._vendor} cannot be used ({self._safe(str(error))}).",
            action="Set remote.base_url to an address such as https://host/v1.",
        )

    def _said(self, refusal: Refusal) -> str:
        return f" ({self._safe(refusal.message)})" if refusal.message else ""

    def _safe(self, text: str) -> str:
        """Return what may be shown: cut after the key is out, or its beginning would stay."""
        return redact(text, key=self._key)[:_SAID_CHARS]


class _TryAgain(Exception):  # noqa: N818 - not an error yet
    """This attempt failed; another one may not."""

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
    """Return the host and port of an address, without a user's name and password."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:
        return ""
