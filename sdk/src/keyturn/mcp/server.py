"""`keyturn-mcp`: the tools over stdio, or over streamable HTTP with `--http`.

`keyturn-mcp gateway` stands before another server instead: `keyturn.mcp.front`.

It acts as the agent whose key is in `KEYTURN_API_KEY`; over HTTP whoever reaches the port
does, so that it listens on this machine alone unless it is told otherwise.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from typing import Any

import anyio
import jsonschema
import mcp.types as types
import uvicorn
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

from keyturn.client import AsyncClient
from keyturn.errors import KeyturnError, NotNow, Refused
from keyturn.mcp import front
from keyturn.mcp.tools import OFFERS, Desk

INSTRUCTIONS = (
    "Ask with request_approval before a consequential action, wait_for_decision, redeem,"
    " act with the arguments that redeem returned, then report_effect. People decide;"
    " no tool here does."
)
_Context = ServerRequestContext[AsyncClient]


def build(connect: Callable[[], AsyncClient] = AsyncClient) -> Server[AsyncClient]:
    """The server; `connect` makes the client that all its calls share."""

    @asynccontextmanager
    async def lifespan(server: Server[AsyncClient]) -> AsyncIterator[AsyncClient]:
        async with connect() as client:
            yield client

    return Server(
        "keyturn",
        version=version("keyturn"),
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        on_list_tools=_list,
        on_call_tool=_call,
    )


async def _list(
    context: _Context, params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    return types.ListToolsResult(
        tools=[
            types.Tool(
                name=name,
                description=offer.description,
                input_schema=offer.schema(),
                annotations=types.ToolAnnotations(read_only_hint=offer.reads),
            )
            for name, offer in OFFERS.items()
        ]
    )


async def _call(
    context: _Context, params: types.CallToolRequestParams
) -> types.CallToolResult:
    offer = OFFERS.get(params.name)
    if offer is None:
        return _failed(f"there is no tool {params.name!r}", code="unknown_tool")
    arguments = params.arguments or {}
    try:
        jsonschema.validate(arguments, offer.schema())
    except jsonschema.ValidationError as flaw:
        pointer = "".join(f"/{one}" for one in flaw.absolute_path)
        return _failed(flaw.message, code="invalid_arguments", pointer=pointer)
    desk = Desk(context.lifespan_context, partial(_progress, context))
    try:
        return _answer(await offer.work(desk, **arguments))
    except KeyturnError as error:
        return _failed(str(error), **_more(error))


async def _progress(
    context: _Context, done: float, total: float | None, message: str
) -> None:
    await context.session.report_progress(done, total, message)


def _answer(document: dict[str, Any]) -> types.CallToolResult:
    text = types.TextContent(type="text", text=json.dumps(document))
    return types.CallToolResult(content=[text], structured_content=document)


def _failed(message: str, **more: Any) -> types.CallToolResult:
    text = types.TextContent(type="text", text=message)
    return types.CallToolResult(
        content=[text], structured_content={"error": message, **more}, is_error=True
    )


def _more(error: KeyturnError) -> dict[str, Any]:
    if isinstance(error, Refused):
        return {"code": error.code, "pointer": error.pointer}
    if isinstance(error, NotNow):
        return {"code": type(error).__name__, "status": error.approval.status}
    return {"code": type(error).__name__}


# -- Running it -------------------------------------------------------------------------


def main() -> None:
    """Serve until the client leaves, or until it is stopped."""
    if sys.argv[1:2] == ["gateway"]:
        front.main(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(prog="keyturn-mcp", description=__doc__)
    parser.add_argument("--http", metavar="PORT", type=int, help="instead of stdio")
    parser.add_argument("--host", default="127.0.0.1", help="with --http")
    options = parser.parse_args()
    if options.http is None:
        anyio.run(_serve_stdio)
    else:
        app = build().streamable_http_app(host=options.host)
        uvicorn.run(app, host=options.host, port=options.http, log_level="warning")


async def _serve_stdio() -> None:
    server = build()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
