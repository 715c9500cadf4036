"""`keyturn-mcp gateway`: stands before another MCP server, and asks before each call.

Its tools are shown as they are, and people are asked about each call of one. It acts as
the agent whose key is in `KEYTURN_API_KEY`.
"""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version
from typing import Any

import anyio
import httpx2
import mcp.types as types
import uvicorn
from mcp import Client as McpClient
from mcp import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.server import Server
from mcp.server.stdio import stdio_server

from keyturn.client import AsyncClient
from keyturn.mcp.gateway import Gateway, Options
from keyturn.mcp.tools import LONGEST


def build(gateway: Gateway) -> Server[Any]:
    """The server that agents see: the tools, resources and prompts of the one behind.

    Only tools are asked about: resources and prompts are there to be read.
    """
    behind, offers = gateway.upstream.session, gateway.upstream.server_capabilities
    more: dict[str, Any] = {}
    if offers.resources:
        more |= {
            "on_list_resources": lambda _, page: behind.list_resources(
                params=_page(page)
            ),
            "on_list_resource_templates": lambda _, page: (
                behind.list_resource_templates(params=_page(page))
            ),
            "on_read_resource": lambda _, wanted: behind.read_resource(wanted.uri),
        }
    if offers.prompts:
        more |= {
            "on_list_prompts": lambda _, page: behind.list_prompts(params=_page(page)),
            "on_get_prompt": lambda _, wanted: behind.get_prompt(
                wanted.name, wanted.arguments
            ),
        }
    return Server(
        "keyturn-gateway",
        version=version("keyturn"),
        instructions=gateway.upstream.instructions,
        on_list_tools=lambda _, page: behind.list_tools(params=_page(page)),
        on_call_tool=gateway.call,
        **more,
    )


def _page(asked: types.PaginatedRequestParams | None) -> types.PaginatedRequestParams:
    """The place in the list alone: what else was said, was said to this server."""
    return types.PaginatedRequestParams(cursor=asked.cursor if asked else None)


# -- Running it -------------------------------------------------------------------------


def main(words: Sequence[str]) -> None:
    """Serve until the client leaves, or until it is stopped."""
    parser = argparse.ArgumentParser(
        prog="keyturn-mcp gateway",
        usage="%(prog)s [options] (URL | -- COMMAND [ARGUMENT ...])",
        description=__doc__,
    )
    parser.add_argument("upstream", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--prefix", default="", help="before each tool's name")
    parser.add_argument("--subject", help="on whose behalf")
    parser.add_argument(
        "--unreviewed",
        action="store_true",
        help="also ask about tools that nobody has reviewed in Keyturn",
    )
    parser.add_argument("--wait", type=float, default=LONGEST, help="seconds")
    parser.add_argument("--timeout", type=float, default=240, help="seconds")
    parser.add_argument("--http", metavar="PORT", type=int, help="instead of stdio")
    parser.add_argument("--host", default="127.0.0.1", help="with --http")
    anyio.run(_serve, parser.parse_args(words))


async def _serve(given: argparse.Namespace) -> None:
    options = Options(
        prefix=given.prefix,
        subject=given.subject,
        reviewed_only=not given.unreviewed,
        wait=given.wait,
        timeout=given.timeout,
    )
    async with (
        _connected(given.upstream, given.timeout) as upstream,
        AsyncClient() as client,
    ):
        gateway = Gateway(upstream, client, options)
        async with anyio.create_task_group() as tasks:
            if os.name == "posix":
                tasks.start_soon(_stop_when_told, gateway)
            await _serve_calls(build(gateway), given)
            tasks.cancel_scope.cancel()


async def _stop_when_told(gateway: Gateway) -> None:
    """Before SIGTERM ends it: a thread that reads what is said would outlast all else."""
    with anyio.open_signal_receiver(signal.SIGTERM) as told:
        await anext(told)
        await gateway.stop()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.raise_signal(signal.SIGTERM)


async def _serve_calls(server: Server[Any], given: argparse.Namespace) -> None:
    if given.http is None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
        return
    app = server.streamable_http_app(host=given.host)
    config = uvicorn.Config(app, host=given.host, port=given.http, log_level="warning")
    await _Http(config).serve()


class _Http(uvicorn.Server):
    """Leaves SIGTERM to the gateway."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def _connected(
    upstream: Sequence[str], patience: float
) -> AsyncIterator[McpClient]:
    """The server behind is told nothing of Keyturn's, its key least of all."""
    if upstream[0].startswith(("http://", "https://")):
        word = os.environ.get("KEYTURN_UPSTREAM_AUTHORIZATION")
        headers = {"Authorization": word} if word else {}
        limits = httpx2.Timeout(30.0, read=300.0)
        async with httpx2.AsyncClient(headers=headers, timeout=limits) as http:
            behind = streamable_http_client(upstream[0], http_client=http)
            async with McpClient(behind, read_timeout_seconds=patience) as client:
                yield client
        return
    env = {k: v for k, v in os.environ.items() if not k.startswith("KEYTURN_")}
    command = StdioServerParameters(
        command=upstream[0], args=list(upstream[1:]), env=env
    )
    async with McpClient(command, read_timeout_seconds=patience) as client:
        yield client
