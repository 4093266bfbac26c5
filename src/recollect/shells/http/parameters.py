"""The parameters of requests: their types, and what is said of a wrong one.

An unknown name is refused, with the nearest one: ignoring it would answer another question.
"""

from __future__ import annotations

import difflib
from datetime import date
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    WrapValidator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from recollect.shells.http.errors import ParameterError
from recollect.text.days import DAY_EXAMPLES, MAX_DAY_CHARS, parse_day
from recollect.types import MAX_QUERY_CHARS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pydantic import ValidatorFunctionWrapHandler
    from pydantic_core import ErrorDetails

_SHOWN_CHARS = 60  # of an invalid value in an error message
_EXPECTED = "expected"
_SHOULD = " should "
"""What follows the kind of a value in the texts of pydantic: Input should be a valid integer."""


class Parameters(BaseModel):
    """The parameters of one operation in its query."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)


class BodyParameters(Parameters):
    """The members of a JSON body, whose types are not converted."""

    model_config = ConfigDict(strict=True)


class NoMembers(BodyParameters):
    """An empty JSON object: a page of another site cannot send one."""


def must_be(text: str) -> WrapValidator:
    """Return a validator that reports what a value must be, not which constraint it breaks."""

    def check(value: object, validate: ValidatorFunctionWrapHandler) -> object:
        try:
            return validate(value)
        except ValidationError:
            raise PydanticCustomError(_EXPECTED, f"Input should be {text}") from None

    return WrapValidator(check)


def _read_day(value: object) -> date:
    try:
        if isinstance(value, str) and len(value) <= MAX_DAY_CHARS:
            return parse_day(value)
    except ValueError:
        pass
    raise PydanticCustomError(_EXPECTED, f"Input should be a day such as {DAY_EXAMPLES}")


Day = Annotated[
    date,
    BeforeValidator(_read_day),
    WithJsonSchema(
        {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_DAY_CHARS,
            "examples": ["2026-02-01", "yesterday", "7d", "last week", "March"],
        }
    ),
]
Question = Annotated[
    str,
    Field(min_length=1, max_length=MAX_QUERY_CHARS, pattern=r"[^\s\x00]"),
    must_be(f"non-blank text of 1 to {MAX_QUERY_CHARS} characters"),
]
TagName = Annotated[
    str, Field(max_length=100, pattern=r"[^\s#/,]"), must_be("a tag such as recipe")
]

ScopeName = Annotated[
    str,
    Field(
        max_length=210, pattern=r"^(global|(user|agent|session):[^\s,\x00-\x1f\x7f-\xa0]{1,200})$"
    ),
    must_be("global, user:NAME, agent:NAME or session:NAME"),
]
SourceOrAll = Literal["memory", "sessions", "agents", "facts", "all"]


def invalid(errors: Sequence[ErrorDetails], known: Collection[str]) -> ParameterError:
    """Return what is wrong with the parameters: first an unknown one, which may be misspelt."""
    error = min(errors, key=lambda each: each["type"] != "extra_forbidden")
    place, *names = map(str, error["loc"])
    name = ".".join(names)
    match error["type"]:
        case "extra_forbidden":
            return unknown(name, known)
        case "json_invalid":
            return ParameterError("The body is not JSON.", action="Send a JSON object in UTF-8.")
        case "missing":
            return ParameterError(f"{name or place} is missing.")
    _, should, wanted = error["msg"].partition(_SHOULD)
    said = f"{name or place}{should}{wanted}" if should else f"{name or place}: {error['msg']}"
    return ParameterError(f"{said}, not {_shown(error['input'])}.")


def unknown(name: str, known: Collection[str]) -> ParameterError:
    """Return the error for a parameter that an operation does not have."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if near:
        action = f"Did you mean {near[0]}?"
    elif known:
        action = f"It takes {', '.join(sorted(known))}."
    else:
        action = "It takes none; see /openapi.json."
    return ParameterError(f"There is no parameter {_shown(name)} here.", action=action)


def _shown(value: object) -> str:
    """Return an invalid value as an error message shows it: short, in ASCII."""
    text = ascii(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
