"""The table of operations. Routing, validation and the OpenAPI description derive from it.

A new operation is a function, its models, and a row here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic.json_schema import models_json_schema

from recollect.records import dataclass
from recollect.shells.http import (
    facts,
    overview,
    page,
    search,
    status,
    vector_stores,
)
from recollect.shells.http.errors import OPENAI_PREFIX, STATUS_MEANINGS
from recollect.shells.http.models import ResponseModel, Schema, properties_of
from recollect.shells.http.status import ErrorModel, NoParameters
from recollect.version import __version__

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from pydantic import BaseModel
    from starlette.responses import Response

    from recollect.shape import Json
    from recollect.shells.http.state import ServerState

_BEARER = "bearer"
_EVERY_ERROR = (400, 403, 405, 414, 503)
_BODY_ERRORS = (408, 413, 415)
_SCHEMAS = "#/components/schemas/"
AGENT = "agent"
"""The parameter of a path that names one of many memories."""
_AGENT_PARAMETER: Json = {
    "name": AGENT,
    "in": "path",
    "required": True,
    "description": "The id of the memory.",
    "schema": {"type": "string", "maxLength": 64},
}


@dataclass(frozen=True, slots=True)
class Operation:
    """What one method does at one path."""

    method: str
    path: str
    run: Callable[[Any, Any], Awaitable[Json | Response]]
    """Takes the state that its server admits to, and the parameters. Its name is the operationId,
    the first line of its docstring the summary."""
    parameters: type[BaseModel]
    """What `run` takes."""
    response: type[BaseModel] | None
    """Describes the JSON; None for text."""
    media_type: str = "application/json"
    status: int = 200
    errors: tuple[int, ...] = ()
    """Statuses of errors that not all operations have."""
    writes: bool = False
    """Refused by a read-only server."""
    is_public: bool = False
    """Needs no token, and is not counted among the requests in progress."""
    seconds: float | None = None
    """How long it may take; None for the server's limit."""
    body_bytes: int | None = None
    """How large its body may be; None for the server's limit."""

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""
        return (self.run.__doc__ or "").partition("\n")[0]

    @property
    def takes_body(self) -> bool:
        """Whether it takes a JSON body, even if only an empty object."""
        return self.method in {"POST", "PUT"}

    @property
    def path_names(self) -> list[str]:
        """The names of the parameters in its path."""
        return re.findall(r"\{(\w+)\}", self.path)


class OpenApiResponse(ResponseModel):
    """An OpenAPI description."""

    openapi: str
    info: dict[str, object]
    paths: dict[str, object]
    components: dict[str, object]


class ErrorResponse(ResponseModel):
    """An error, as the command line's --json prints it."""

    ok: Literal[False]
    error: ErrorModel


class OpenAiErrorModel(vector_stores.OpenAiModel):
    """What failed, in OpenAI's terms."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenAiErrorResponse(vector_stores.OpenAiModel):
    """An error, as OpenAI's API returns it."""

    error: OpenAiErrorModel


async def openapi(state: ServerState, _: NoParameters) -> Json:
    """Return this description."""
    return description(OPERATIONS, needs_token=state.needs_token)


# fmt: off
OPERATIONS = (
    Operation("GET", "/health", status.health, NoParameters, status.HealthResponse, is_public=True),
    Operation("GET", "/api/status", status.status, status.StatusParameters, status.StatusResponse),
    Operation("POST", "/api/sync", status.sync, NoParameters, status.SyncResponse, status=202),
    Operation("GET", "/metrics", status.metrics, NoParameters, None, media_type="text/plain"),
    Operation("GET", "/openapi.json", openapi, NoParameters, OpenApiResponse),
    Operation("GET", "/api/search", search.search, search.SearchParameters, search.SearchResponse),
    Operation("GET", "/api/recall", search.recall_block, search.RecallParameters,
              search.RecallResponse),
    Operation("GET", "/api/file", search.file, search.FileParameters, search.FileResponse,
              errors=(404,)),
    Operation("GET", "/api/facts", facts.facts, facts.ListParameters, facts.FactListResponse),
    Operation("GET", "/api/facts/{id}", facts.fact, facts.IdParameters, facts.FactHistoryResponse,
              errors=(404,)),
    Operation("POST", "/api/facts", facts.remember, facts.RememberParameters,
              facts.RememberResponse, status=201, errors=(409,), writes=True),
    Operation("POST", "/api/facts/{id}/supersede", facts.supersede, facts.SupersedeParameters,
              facts.SupersedeResponse, errors=(404, 409), writes=True),
    Operation("POST", "/api/facts/{id}/restore", facts.restore, facts.IdParameters,
              facts.RestoreResponse, errors=(404, 409), writes=True),
    Operation("DELETE", "/api/facts/{id}", facts.forget, facts.IdParameters, facts.ForgetResponse,
              errors=(404,), writes=True),
    Operation("GET", "/api/documents", overview.documents, overview.DocumentsParameters,
              overview.DocumentsResponse),
    Operation("GET", "/api/timeline", overview.timeline, overview.TimelineParameters,
              overview.TimelineResponse),
    Operation("GET", "/api/related", overview.related, overview.RelatedParameters,
              overview.RelatedResponse),
    Operation("GET", "/api/map", overview.chunk_map, overview.MapParameters, overview.MapResponse),
    Operation("GET", "/v1/vector_stores", vector_stores.list_vector_stores,
              vector_stores.StoreListParameters, vector_stores.StoreListResponse),
    Operation("GET", "/v1/vector_stores/{vector_store_id}", vector_stores.retrieve_vector_store,
              vector_stores.StoreParameters, vector_stores.StoreResponse, errors=(404,)),
    Operation("POST", "/v1/vector_stores/{vector_store_id}/search",
              vector_stores.search_vector_store, vector_stores.StoreSearchParameters,
              vector_stores.StoreSearchResponse, errors=(404,)),
    Operation("GET", "/", page.page, NoParameters, None, media_type="text/html", is_public=True),
    Operation("GET", "/static/{name}", page.static, page.FileNameParameters, None,
              media_type="*/*", errors=(404,), is_public=True),
)
# fmt: on


def description(operations: Sequence[Operation], *, needs_token: bool) -> Json:
    """Return the OpenAPI 3.1 description of a table."""
    paths: dict[str, dict[str, object]] = {}
    for each in operations:
        row = paths.setdefault(each.path, {})
        row[each.method.lower()] = _described(each, needs_token=needs_token)
    components: dict[str, object] = {"schemas": _response_schemas(operations)}
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


def _response_schemas(operations: Sequence[Operation]) -> Json:
    models: list[type[BaseModel]] = [ErrorResponse, OpenAiErrorResponse]
    models += [each.response for each in operations if each.response is not None]
    _, schema = models_json_schema(
        [(model, "validation") for model in models],
        ref_template=f"{_SCHEMAS}{{model}}",
        schema_generator=Schema,
    )
    return cast("Json", schema["$defs"])


def _described(operation: Operation, *, needs_token: bool) -> Json:
    path_names = operation.path_names
    required = {
        field.alias or name
        for name, field in operation.parameters.model_fields.items()
        if field.is_required()
    }
    parameters: list[Json] = [_AGENT_PARAMETER] if AGENT in path_names else []
    members = {}
    for name, schema in properties_of(operation.parameters).items():
        if operation.takes_body and name not in path_names:
            # A member that is null counts as left out.
            members[name] = schema if name in required else _nullable(schema)
        else:
            parameters.append(
                {
                    "name": name,
                    "in": "path" if name in path_names else "query",
                    "required": name in required,
                    "description": schema["description"],
                    "schema": {key: schema[key] for key in schema if key != "description"},
                }
            )
    described: dict[str, object] = {
        "operationId": operation.run.__name__,
        "summary": operation.summary,
        "parameters": parameters,
        "responses": _responses(operation, needs_token=needs_token),
    }
    if operation.takes_body:
        body = {
            "type": "object",
            "properties": members,
            "required": sorted(required & set(members)),
            "additionalProperties": False,
        }
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": body}},
        }
    if needs_token and not operation.is_public:
        described["security"] = [{_BEARER: []}]
    return described


def _nullable(schema: Json) -> Json:
    outer = {name: schema[name] for name in ("description", "default") if name in schema}
    inner = {name: value for name, value in schema.items() if name not in outer}
    return {"anyOf": [inner, {"type": "null"}], **outer}


def _responses(operation: Operation, *, needs_token: bool) -> Json:
    statuses = {*_EVERY_ERROR, *operation.errors}
    if not operation.is_public:
        statuses.update((429, 500))
        statuses.update((401,) if needs_token else ())
    if operation.takes_body:
        statuses.update(_BODY_ERRORS)
    is_openai = operation.path.startswith(OPENAI_PREFIX)
    error = OpenAiErrorResponse if is_openai else ErrorResponse
    responses: dict[str, object] = {
        str(operation.status): {
            "description": operation.summary,
            "content": {operation.media_type: {"schema": _body(operation.response)}},
        }
    }
    for status_code in sorted(statuses):
        responses[str(status_code)] = {
            "description": STATUS_MEANINGS[status_code],
            "content": {"application/json": {"schema": _body(error)}},
        }
    return responses


def _body(model: type[BaseModel] | None) -> Json:
    return {"type": "string"} if model is None else {"$ref": f"{_SCHEMAS}{model.__name__}"}
