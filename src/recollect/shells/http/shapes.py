"""JSON schemas of answers, written as short as they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.shells.render.search import Json

TEXT: Json = {"type": "string"}
WHOLE: Json = {"type": "integer"}
NUMBER: Json = {"type": "number"}
FLAG: Json = {"type": "boolean"}
DAY: Json = {"type": "string", "format": "date"}
MOMENT: Json = {"type": "string", "format": "date-time"}
OPEN: Json = {"type": "object"}
"""An object whose members are not listed."""


def shape(members: Json, *, may: Json | None = None) -> Json:
    """Return the schema of an object with these members, and no others.

    Args:
        members: always there.
        may: only sometimes there.

    """
    return {
        "type": "object",
        "properties": {**members, **(may or {})},
        "required": list(members),
        "additionalProperties": False,
    }


def array(of: Json) -> Json:
    """Return the schema of a list."""
    return {"type": "array", "items": of}


def mapping(of: Json) -> Json:
    """Return the schema of an object with any names."""
    return {"type": "object", "additionalProperties": of}


def either(*kinds: Json) -> Json:
    """Return the schema of one of these."""
    return {"anyOf": list(kinds)}


def nullable(kind: Json) -> Json:
    """Return the schema of something or null."""
    return either(kind, {"type": "null"})


def word(*values: str) -> Json:
    """Return the schema of one of these words."""
    return {"type": "string", "enum": list(values)}


WHY = shape({"reason": TEXT, "action": TEXT})
FAILURE = shape({"path": TEXT, "reason": TEXT, "action": TEXT})
DEGRADED = nullable(shape({"legs": mapping(WHY)}))
ERROR = shape(
    {
        "ok": {"const": False},
        "error": shape({"type": TEXT, "message": TEXT, "action": TEXT}),
    }
)
OPENAI_ERROR = shape(
    {
        "error": shape(
            {"message": TEXT, "type": TEXT, "param": nullable(TEXT), "code": nullable(TEXT)}
        )
    }
)
