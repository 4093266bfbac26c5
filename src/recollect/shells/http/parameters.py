"""The parameters of requests: their types, how they are read, and what is said of a wrong one.

Values are strict: what the description does not allow is refused, and nothing is guessed.
"""

from __future__ import annotations

import difflib
import json
import re
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal, cast

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
    from collections.abc import Iterable, Mapping

    from pydantic import GetJsonSchemaHandler, ValidatorFunctionWrapHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema, ErrorDetails

    from recollect.shape import Json

_INTEGER = re.compile(r"-?[0-9]{1,18}")
_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?")
_SHOWN_CHARS = 60  # of an invalid value in an error message
_EXPECTED = "expected"
_NULL = {"type": "null"}


class Parameters(BaseModel):
    """The parameters of one operation: of its path, and of its query or its JSON body."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, alias_generator=to_camel)


class BodyParameters(Parameters):
    """The members of a JSON body, which may be null if they may be left out."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schema, with null for what may be left out."""
        schema = handler.resolve_ref_schema(handler(core))
        required = schema.get("required", ())
        schema["properties"] = {
            name: each if name in required or "anyOf" in each else _nullable(each)
            for name, each in schema.get("properties", {}).items()
        }
        return schema


def _nullable(schema: Json) -> Json:
    outer = {name: schema[name] for name in ("description", "default") if name in schema}
    inner = {name: value for name, value in schema.items() if name not in outer}
    return {"anyOf": [inner, _NULL], **outer}


class NoMembers(BodyParameters):
    """An empty JSON object: a page of another site cannot send one."""


def must_be(text: str) -> WrapValidator:
    """Return a validator that reports what a value must be, not which constraint it breaks."""

    def check(value: object, validate: ValidatorFunctionWrapHandler) -> object:
        try:
            return validate(value)
        except ValidationError:
            raise PydanticCustomError(_EXPECTED, text) from None

    return WrapValidator(check)


def _read_day(value: object) -> date:
    try:
        if isinstance(value, str) and len(value) <= MAX_DAY_CHARS:
            return parse_day(value)
    except ValueError:
        pass
    raise PydanticCustomError(_EXPECTED, f"a day such as {DAY_EXAMPLES}")


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
        max_length=210,
        pattern=r"^(global|(user|agent|session):[^\s,\x00-\x1f\x7f-\xa0]{1,200})$",
    ),
    must_be("global, user:NAME, agent:NAME or session:NAME"),
]
SourceOrAll = Literal["memory", "sessions", "facts", "all"]


@cache
def schemas_of(model: type[BaseModel]) -> Mapping[str, Json]:
    """Return the JSON schemas of a model's fields, by their names in a request."""
    schema = model.model_json_schema()
    properties = {name: _without_null(each) for name, each in schema.get("properties", {}).items()}
    for name, each in properties.items():
        if reference := cast("Json", each.get("items", {})).get("$ref"):
            definition = schema["$defs"][str(reference).rpartition("/")[2]]
            properties[name] = {**each, "items": definition}
    return properties


def _without_null(schema: Json) -> Json:
    """Return the schema of an optional field without null: a field is left out instead."""
    kinds = [each for each in cast("list[Json]", schema.get("anyOf", ())) if each != _NULL]
    rest = {name: schema[name] for name in schema if name != "anyOf"}
    return {**kinds[0], **rest} if len(kinds) == 1 else schema


def read_query(
    query: Iterable[tuple[str, str]], properties: Mapping[str, Json]
) -> list[tuple[str, object]]:
    """Return the parameters in a query, each as the JSON value that its text stands for.

    Raises:
        ParameterError: one is unknown, or sent twice.

    """
    sent: dict[str, list[object]] = {}
    for name, text in query:
        if name not in properties:
            raise _unknown(name, properties)
        schema = cast("Json", properties[name].get("items", properties[name]))
        sent.setdefault(name, []).append(_read_text(text, schema))
    for name, values in sent.items():
        if len(values) > 1 and properties[name].get("type") != "array":
            raise ParameterError(f"{name} is given {len(values)} times.")
    return [(name, each) for name, values in sent.items() for each in values]


def _read_text(text: str, schema: Json) -> object:
    """Return the JSON value that a text of the query stands for, or the text itself."""
    kind = schema.get("type")
    if kind == "boolean":
        return {"true": True, "false": False}.get(text, text)
    if kind == "integer" and _INTEGER.fullmatch(text):
        return int(text)
    if kind == "number" and _NUMBER.fullmatch(text):
        return float(text)
    return text


def read_members(body: bytes, properties: Mapping[str, Json]) -> dict[str, object]:
    """Return the members of a JSON object; one that is null counts as left out.

    Raises:
        ParameterError: it is not a JSON object, or has an unknown member.

    """
    try:
        sent = json.loads(body, parse_float=_read_float, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise ParameterError(
            "The body is not JSON.", action="Send a JSON object in UTF-8."
        ) from None
    if not isinstance(sent, dict):
        raise ParameterError(
            "The body is not a JSON object.", action="Send {…} with named members."
        )
    for name, value in sent.items():
        if name not in properties:
            raise _unknown(name, properties)
        if not _is_unicode(value):  # pydantic checks only plain texts itself
            wanted = f"{name} must be valid Unicode, not {_shown(value)}."
            raise ParameterError(wanted)
    return {name: value for name, value in sent.items() if value is not None}


def _is_unicode(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _read_float(text: str) -> float:
    """Return a number; 5.0 is an integer to JSON Schema."""
    number = float(text)
    return int(number) if number.is_integer() else number


def _refuse_constant(name: str) -> object:
    raise ValueError(name)  # NaN and Infinity are not JSON


def invalid(error: ErrorDetails, properties: Mapping[str, Json]) -> ParameterError:
    """Return what is wrong with a parameter."""
    _, name, *inner = map(str, error["loc"])
    schema = properties[name]
    if error["type"] == "missing" and not inner:
        action = f"Give {name}: {schema.get('description')}"
        return ParameterError(f"{name} is missing.", action=action)
    if error["type"] == _EXPECTED:
        wanted = error["msg"]
    else:
        wanted = _expected(cast("Json", schema["items"]) if inner else schema)
    return ParameterError(f"{name} must be {wanted}, not {_shown(error['input'])}.")


def _expected(schema: Json) -> str:
    """Return what a value must be, after its JSON schema."""
    if "enum" in schema:
        return f"one of {', '.join(map(str, cast('list[object]', schema['enum'])))}"
    kind = schema.get("type")
    if kind in ("integer", "number"):
        number = "a whole number" if kind == "integer" else "a number"
        return f"{number} from {schema['minimum']} to {schema['maximum']}"
    if kind == "array":
        return f"a list of at most {schema['maxItems']} values"
    if kind == "boolean":
        return "true or false"
    if kind == "object":
        return f"an object with {', '.join(cast('Json', schema['properties']))}, each valid"
    return f"text of {schema.get('minLength', 0)} to {schema['maxLength']} characters"


def _unknown(name: str, properties: Mapping[str, Json]) -> ParameterError:
    near = difflib.get_close_matches(name, properties, n=1, cutoff=0.5)
    if near:
        action = f"Did you mean {near[0]}?"
    elif properties:
        action = f"It takes {', '.join(sorted(properties))}."
    else:
        action = "It takes none; see /openapi.json."
    return ParameterError(f"There is no parameter {_shown(name)} here.", action=action)


def _shown(value: object) -> str:
    """Return an invalid value as an error message shows it: short, in ASCII."""
    text = ascii(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
