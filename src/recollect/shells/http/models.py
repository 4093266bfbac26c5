"""Requests and responses as pydantic models, which also make the OpenAPI description.

Parameters are validated by their model. Responses are only described by theirs: our own code
renders them, and validating them would cost more than rendering them.
"""

from __future__ import annotations

import difflib
import json
import re
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast

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
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticCustomError

from recollect.shells.http.errors import ParameterError
from recollect.text.days import DAY_EXAMPLES, MAX_DAY_CHARS, parse_day
from recollect.types import MAX_QUERY_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import ValidatorFunctionWrapHandler
    from pydantic_core import ErrorDetails
    from pydantic_core.core_schema import WithDefaultSchema

    from recollect.shape import Json

A = TypeVar("A", bound=BaseModel)

_INTEGER = re.compile(r"-?[0-9]{1,18}")
_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?")
_SHOWN_CHARS = 60  # of an invalid value in an error message
_EXPECTED = "expected"
SOMETIMES: Any = Field(default=None)
"""Marks a member of a response that is left out if it does not apply."""


class Parameters(BaseModel):
    """The parameters of one operation: of its path, and of its query or its JSON body."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, alias_generator=to_camel)


class ResponseModel(BaseModel):
    """Describes a JSON object of a response."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)


class Schema(GenerateJsonSchema):
    """JSON Schema without generated titles and without empty defaults."""

    def field_title_should_be_set(self, schema: object) -> bool:
        """Return False: the name of a field says what its title would."""
        del schema
        return False

    def default_schema(self, schema: WithDefaultSchema) -> dict[str, object]:
        """Return the schema of a field that has a default."""
        described: dict[str, object] = super().default_schema(schema)
        if described.get("default") in (None, []):
            described.pop("default", None)
        return described


def must_be(text: str) -> WrapValidator:
    """Return a validator that reports what a value must be, not which constraint it breaks."""

    def check(value: object, validate: ValidatorFunctionWrapHandler) -> object:
        try:
            return validate(value)
        except ValidationError as error:
            is_text = error.errors()[0]["type"] != "string_unicode"
            raise PydanticCustomError(_EXPECTED, text if is_text else "valid Unicode") from None

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
SourceName = Literal["memory", "sessions", "facts"]
SourceOrAll = Literal["memory", "sessions", "facts", "all"]


class ReasonModel(ResponseModel):
    """Why something was not done, and what you can do about it."""

    reason: str
    action: str


class DegradedModel(ResponseModel):
    """The legs that did not run or were incomplete."""

    legs: dict[str, ReasonModel]


def read_parameters(
    model: type[A],
    *,
    path: Mapping[str, str],
    query: Iterable[tuple[str, str]],
    body: bytes | None,
) -> A:
    """Return the parameters of a request.

    Args:
        model: of the operation.
        path: the parameters in the path.
        query: the parameters in the query, in the order they were sent.
        body: a JSON object; None if the operation takes no body.

    Raises:
        ParameterError: a parameter is unknown, missing, sent twice or invalid.

    """
    properties = {name: schema for name, schema in properties_of(model).items() if name not in path}
    if body is None:
        sent = _read_query(query, properties)
    else:
        _read_query(query, {})
        sent = _read_body(body, properties)
    try:
        return model.model_validate({**sent, **path})
    except ValidationError as error:
        raise _invalid(error.errors(include_url=False)[0], model) from None
    except UnicodeEncodeError:  # of a choice: pydantic checks only plain texts itself
        name = next(name for name, value in sent.items() if not _is_unicode(value))
        raise ParameterError(
            f"{name} must be valid Unicode, not {_shown(sent[name])}.", param=name
        ) from None


@cache
def properties_of(model: type[BaseModel]) -> Mapping[str, Json]:
    """Return the JSON schemas of a model's fields, by their names in a request."""
    schema = model.model_json_schema(schema_generator=Schema)
    resolved = _resolved(schema.get("properties", {}), schema.get("$defs", {}))
    return {name: _without_null(each) for name, each in cast("dict[str, Json]", resolved).items()}


def _resolved(node: object, definitions: Mapping[str, Json]) -> object:
    """Return a schema with the definitions in the place of the references to them."""
    if isinstance(node, list):
        return [_resolved(each, definitions) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        definition = definitions[node["$ref"].rpartition("/")[2]]
        node = {**definition, **{name: node[name] for name in node if name != "$ref"}}
    return {name: _resolved(each, definitions) for name, each in node.items()}


def _without_null(schema: Json) -> Json:
    """Return the schema of an optional field without null: a field is left out instead."""
    if "anyOf" not in schema:
        return schema
    kinds = [each for each in cast("list[Json]", schema["anyOf"]) if each != {"type": "null"}]
    rest = {name: schema[name] for name in schema if name != "anyOf"}
    return {**kinds[0], **rest} if len(kinds) == 1 else {"anyOf": kinds, **rest}


def _read_query(
    query: Iterable[tuple[str, str]], properties: Mapping[str, Json]
) -> dict[str, object]:
    sent: dict[str, list[object]] = {}
    for name, text in query:
        if name not in properties:
            raise _unknown(name, properties)
        schema = cast("Json", properties[name].get("items", properties[name]))
        sent.setdefault(name, []).append(_read_text(text, schema))
    for name, values in sent.items():
        if len(values) > 1 and properties[name].get("type") != "array":
            raise ParameterError(f"{name} is given {len(values)} times.", param=name)
    return {
        name: values if properties[name].get("type") == "array" else values[0]
        for name, values in sent.items()
    }


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


def _read_body(body: bytes, properties: Mapping[str, Json]) -> dict[str, object]:
    try:
        sent = json.loads(body, parse_float=_read_float, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise ParameterError(
            "The body is not JSON.", param=None, action="Send a JSON object in UTF-8."
        ) from None
    if not isinstance(sent, dict):
        raise ParameterError(
            "The body is not a JSON object.", param=None, action="Send {…} with named members."
        )
    for name in sent:
        if name not in properties:
            raise _unknown(name, properties)
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


def _invalid(error: ErrorDetails, model: type[BaseModel]) -> ParameterError:
    name = str(error["loc"][0])
    schema = properties_of(model)[name]
    if error["type"] == "missing":
        action = f"Give {name}: {schema.get('description')}"
        return ParameterError(f"{name} is missing.", param=name, action=action)
    if error["type"] == _EXPECTED:
        wanted = error["msg"]
    elif error["type"] == "string_unicode":
        wanted = "valid Unicode"
    else:
        is_member = len(error["loc"]) > 1
        wanted = _expected(cast("Json", schema["items"]) if is_member else schema)
    return ParameterError(f"{name} must be {wanted}, not {_shown(error['input'])}.", param=name)


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
    return ParameterError(f"There is no parameter {_shown(name)} here.", param=name, action=action)


def _shown(value: object) -> str:
    """Return an invalid value as an error message shows it: short, in ASCII."""
    text = ascii(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
