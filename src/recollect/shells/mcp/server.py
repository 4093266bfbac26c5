"""The server of the SDK, told what it can do: tools and resources over one memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from recollect.shells.mcp.calls import Calls
from recollect.shells.mcp.greet import NAME, TITLE
from recollect.shells.mcp.resources import MARKDOWN, TEMPLATES, Resources
from recollect.shells.mcp.tools import described, offered
from recollect.version import __version__

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from recollect.shells.mcp.live import LiveMemory

    Context = ServerRequestContext[Any, Any]


def make_server(live: LiveMemory, *, read_only: bool, instructions: str) -> Server[Any]:
    """Return a server over a memory that need not be open yet."""
    tools = {tool.name: tool for tool in offered(read_only=read_only)}
    listed = [types.Tool.model_validate(described(tool)) for tool in tools.values()]
    calls = Calls(live)
    resources = Resources(live)

    async def list_tools(
        _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(
        _context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        answer = await calls.call(tool, params.arguments or {})
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=answer.text)],
            structured_content=answer.structured,
            is_error=answer.is_error,
        )

    async def list_resources(
        _context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        page = await resources.page(params.cursor if params else None)
        return types.ListResourcesResult.model_validate(page)

    async def list_templates(
        _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult.model_validate(TEMPLATES)

    async def read_resource(
        _context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        text = await resources.text(str(params.uri))
        contents = types.TextResourceContents(uri=params.uri, mime_type=MARKDOWN, text=text)
        return types.ReadResourceResult(contents=[contents])

    return Server(
        NAME,
        version=__version__,
        title=TITLE,
        instructions=instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )
