"""What every answer tells browsers: run nothing that is not ours, guess no type, keep nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders

if TYPE_CHECKING:
    from starlette.types import Message, Send

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURE = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
_KEPT = "Cache-Control"
_KEEP_NOTHING = "no-store"


def secured(send: Send) -> Send:
    """Return a send that adds the headers to whatever is answered."""

    async def send_secured(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=list(message.get("headers", [])))
            headers.update(SECURE)
            headers.setdefault(_KEPT, _KEEP_NOTHING)
            message["headers"] = headers.raw
        await send(message)

    return send_secured
