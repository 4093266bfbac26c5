"""Files of JSON lines, the forms they are uploaded in, and looking into answers of any shape."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from recollect.types import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_FILE = "recollect.jsonl"
_TYPE = "application/jsonl"


def pick(shape: object, *names: str) -> object:
    """Return what stands under the names, one inside the other; None where nothing does."""
    for name in names:
        shape = shape.get(name) if isinstance(shape, dict) else None
    return shape


def pick_text(shape: object, *names: str) -> str:
    """Return the text under the names; empty where there is none."""
    found = pick(shape, *names)
    return found if isinstance(found, str) else ""


def pick_list(shape: object, *names: str) -> list[object]:
    """Return the list under the names; empty where there is none."""
    found = pick(shape, *names)
    return found if isinstance(found, list) else []


def pick_count(shape: object, *names: str) -> int:
    """Return the number under the names, also where it is written as a text; 0 without one."""
    found = pick(shape, *names)
    return int(found) if isinstance(found, (int, str)) and str(found).isdecimal() else 0


def plain(text: str) -> str:
    """Return the text without halves of characters: strict readers refuse the whole file."""
    return text.encode("utf-8", "replace").decode("utf-8")


def write_lines(lines: Iterable[Mapping[str, object]]) -> bytes:
    """Return the lines as a file.

    In ASCII: some readers take U+0085 and U+2028, which JSON allows in a text, for line ends.
    """
    return b"".join(json.dumps(line).encode("ascii") + b"\n" for line in lines)


def read_lines(content: bytes) -> Iterator[object]:
    """Return the parsed lines.

    Raises:
        ValueError: something else than JSON lines.

    """
    for line in content.splitlines():
        if line.strip():
            yield json.loads(line)


def as_form(content: bytes) -> tuple[bytes, str]:
    """Return the body and the type of an upload by form, as OpenAI and Voyage take it."""
    return _multipart(
        "form-data",
        content,
        (b'content-disposition: form-data; name="purpose"', b"batch"),
        (
            f'content-disposition: form-data; name="file"; filename="{_FILE}"\r\n'
            f"content-type: {_TYPE}".encode(),
            content,
        ),
    )


def as_related(content: bytes, *, name: str) -> tuple[bytes, str]:
    """Return the body and the type of an upload with its description in front, as Google's."""
    about = {"file": {"displayName": name, "mimeType": _TYPE}}
    return _multipart(
        "related",
        content,
        (b"content-type: application/json; charset=utf-8", json.dumps(about).encode("ascii")),
        (f"content-type: {_TYPE}".encode(), content),
    )


def _multipart(kind: str, content: bytes, *parts: tuple[bytes, bytes]) -> tuple[bytes, str]:
    # No text holds its own digest, so the boundary stands nowhere in the content.
    boundary = f"recollect-{digest_of(content)[:32]}"
    line = f"--{boundary}".encode()
    body = b"".join(line + b"\r\n" + head + b"\r\n\r\n" + part + b"\r\n" for head, part in parts)
    return body + line + b"--\r\n", f"multipart/{kind}; boundary={boundary}"
