"""The description of the API, OpenAPI 3.1, made from the table that serves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.shells.http.operation import Where
from recollect.shells.http.refuse import ABOUT, OPENAI_PREFIX
from recollect.shells.http.shapes import ERROR, OPENAI_ERROR, nullable
from recollect.shells.http.table import OPERATIONS
from recollect.version import __version__

if TYPE_CHECKING:
    from recollect.shells.http.operation import Operation, Param
    from recollect.shells.render.search import Json

_BEARER = "bearer"
_EVERYWHERE = (400, 403, 405, 414, 503)
_WITH_ROOM = (429, 500)
_WITH_BODY = (413, 415)


def description(*, needs_token: bool) -> Json:
    """Return the description of everything in the table."""
    paths: dict[str, dict[str, object]] = {}
    for operation in OPERATIONS:
        row = paths.setdefault(operation.path, {})
        row[operation.method.lower()] = _operation(operation, needs_token=needs_token)
    components: dict[str, object] = {"schemas": {"Error": ERROR, "OpenAiError": OPENAI_ERROR}}
    if needs_token:
        components["securitySchemes"] = {_BEARER: {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Recollect",
            "version": __version__,
            "summary": "Memory search for AI agents.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": components,
    }


def _operation(operation: Operation, *, needs_token: bool) -> Json:
    described: dict[str, object] = {
        "operationId": operation.endpoint.__name__,
        "summary": operation.summary,
        "parameters": [
            _parameter(param) for param in operation.params if param.where is not Where.BODY
        ],
        "responses": _responses(operation, needs_token=needs_token),
    }
    if operation.has_body:
        schema = _body(operation)
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    if needs_token and not operation.is_open:
        described["security"] = [{_BEARER: []}]
    return described


def _parameter(param: Param[object]) -> Json:
    return {
        "name": param.name,
        "in": param.where.value,
        "required": param.is_required,
        "description": param.about,
        "schema": _with_default(param, param.kind.schema),
    }


def _body(operation: Operation) -> Json:
    members = [param for param in operation.params if param.where is Where.BODY]
    return {
        "type": "object",
        "properties": {param.name: _member(param) for param in members},
        "required": [param.name for param in members if param.is_required],
        "additionalProperties": False,
    }


def _member(param: Param[object]) -> Json:
    schema = param.kind.schema if param.is_required else nullable(param.kind.schema)
    return {**_with_default(param, schema), "description": param.about}


def _with_default(param: Param[object], schema: Json) -> Json:
    has_default = param.default is not None and param.default != ()
    return {**schema, "default": param.default} if has_default else schema


def _responses(operation: Operation, *, needs_token: bool) -> Json:
    statuses = {*_EVERYWHERE, *operation.errors}
    if not operation.is_open:
        statuses.update(_WITH_ROOM)
        statuses.update((401,) if needs_token else ())
    if operation.has_body:
        statuses.update(_WITH_BODY)
    is_openai = operation.path.startswith(OPENAI_PREFIX)
    error = {"$ref": f"#/components/schemas/{'OpenAiError' if is_openai else 'Error'}"}
    responses: dict[str, object] = {
        str(operation.status): {
            "description": operation.summary,
            "content": {operation.media: {"schema": operation.answer}},
        }
    }
    for status in sorted(statuses):
        responses[str(status)] = {
            "description": ABOUT[status],
            "content": {"application/json": {"schema": error}},
        }
    return responses
