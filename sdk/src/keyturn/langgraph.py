"""LangGraph: threads kept in Keyturn, and interrupts that people answer there.

    with Client() as client:
        graph = builder.compile(checkpointer=KeyturnSaver(client, subject="customer-7"))

A thread is a session of its own; each checkpoint and each set of writes is an item of it,
so that appending is all that a running graph does. Reading plays the items back into
LangGraph's own saver in memory.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from keyturn import calls
from keyturn.client import AsyncClient, Client
from keyturn.flows import Flow, send
from keyturn.histories import Histories

T = TypeVar("T")
PREFIX = "langgraph/"
Put = tuple[RunnableConfig, Checkpoint, CheckpointMetadata, ChannelVersions]


class KeyturnSaver(BaseCheckpointSaver[str]):
    """A checkpointer over a client's sessions.

    With a `Client` its methods serve threads and event loops; with an `AsyncClient`
    only event loops. Objects come back as such only if LangGraph counts their type as
    safe, unless another `serde` is given. Threads are the agent's: two agents may use
    the same thread id for different ones.
    """

    def __init__(
        self,
        client: Client | AsyncClient,
        *,
        subject: str,
        serde: SerializerProtocol | None = None,
    ) -> None:
        strict = JsonPlusSerializer(allowed_msgpack_modules=None)
        super().__init__(serde=serde or strict)
        self._client = client
        self._histories = Histories(client, subject)

    # -- Writing --------------------------------------------------------------------------

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        made = (config, checkpoint, metadata, new_versions)
        self._drive(self._append(_thread(config), self._put_item(made)))
        return _config_of(config, checkpoint["id"])

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        made = (config, checkpoint, metadata, new_versions)
        await self._adrive(self._append(_thread(config), self._put_item(made)))
        return _config_of(config, checkpoint["id"])

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        item = self._writes_item(config, writes, task_id, task_path)
        self._drive(self._append(_thread(config), item))

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        item = self._writes_item(config, writes, task_id, task_path)
        await self._adrive(self._append(_thread(config), item))

    def delete_thread(self, thread_id: str) -> None:
        self._drive(self._clear(thread_id))

    async def adelete_thread(self, thread_id: str) -> None:
        await self._adrive(self._clear(thread_id))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self._drive(self._copy(source_thread_id, target_thread_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await self._adrive(self._copy(source_thread_id, target_thread_id))

    # -- Reading --------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self._drive(self._replayed(config)).get_tuple(config)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return (await self._adrive(self._replayed(config))).get_tuple(config)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        held = self._drive(self._replayed(config))
        yield from held.list(config, filter=filter, before=before, limit=limit)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        held = await self._adrive(self._replayed(config))
        for one in held.list(config, filter=filter, before=before, limit=limit):
            yield one

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        held = self._drive(self._replayed(config))
        return held.get_delta_channel_history(config=config, channels=channels)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        held = await self._adrive(self._replayed(config))
        return held.get_delta_channel_history(config=config, channels=channels)

    # -- Items ----------------------------------------------------------------------------

    def _put_item(self, made: Put) -> dict[str, Any]:
        config, checkpoint, metadata, versions = made
        values = checkpoint["channel_values"]
        kept = {name: values[name] for name in versions if name in values}
        return {
            "config": _plain(config),
            "checkpoint": self._dump({**checkpoint, "channel_values": kept}),
            "metadata": self._dump(get_checkpoint_metadata(config, metadata)),
            "new_versions": dict(versions),
        }

    def _writes_item(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str,
    ) -> dict[str, Any]:
        return {
            "config": _plain(config),
            "writes": [[channel, self._dump(value)] for channel, value in writes],
            "task": [task_id, task_path],
        }

    def _play(self, held: InMemorySaver, item: Any) -> None:
        config: RunnableConfig = {"configurable": item["config"]}
        if "writes" in item:
            writes = [(channel, self._load(value)) for channel, value in item["writes"]]
            held.put_writes(config, writes, *item["task"])
            return
        checkpoint, metadata = (
            self._load(item[name]) for name in ("checkpoint", "metadata")
        )
        held.put(config, checkpoint, metadata, item["new_versions"])

    def _dump(self, value: Any) -> tuple[str, str]:
        kind, content = self.serde.dumps_typed(value)
        return kind, base64.b64encode(content).decode()

    def _load(self, kept: Sequence[str]) -> Any:
        return self.serde.loads_typed((kept[0], base64.b64decode(kept[1])))

    # -- Flows ----------------------------------------------------------------------------

    def _append(self, thread: str, *items: Any) -> Flow[None]:
        yield from self._histories.append(PREFIX + thread, items)

    def _clear(self, thread: str) -> Flow[None]:
        yield from self._histories.clear(PREFIX + thread)

    def _copy(self, source: str, target: str) -> Flow[None]:
        for one in (yield from self._histories.items(PREFIX + source)):
            item = {**one.data, "config": {**one.data["config"], "thread_id": target}}
            yield from self._append(target, item)

    def _replayed(self, config: RunnableConfig | None) -> Flow[InMemorySaver]:
        held = InMemorySaver(serde=self.serde)
        names = [_thread(config)] if config else (yield from self._threads())
        for thread in names:
            for one in (yield from self._histories.items(PREFIX + thread)):
                self._play(held, one.data)
        return held

    def _threads(self) -> Flow[Sequence[str]]:
        found, cursor = [], None
        while True:
            page = yield from send(
                self._client, calls.list_sessions(cursor=cursor, limit=200)
            )
            found += [one.external_id or "" for one in page.items]
            cursor = page.next
            if cursor is None:
                break
        return [name.removeprefix(PREFIX) for name in found if name.startswith(PREFIX)]

    def _drive(self, flow: Flow[T]) -> T:
        if isinstance(self._client, AsyncClient):
            raise TypeError("with an AsyncClient only the graph's async methods work")
        return self._client.drive(flow)

    async def _adrive(self, flow: Flow[T]) -> T:
        if isinstance(self._client, AsyncClient):
            return await self._client.drive(flow)
        return await asyncio.to_thread(partial(self._client.drive, flow))


def _thread(config: RunnableConfig) -> str:
    return str(config["configurable"]["thread_id"])


def _config_of(config: RunnableConfig, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {**_plain(config), "checkpoint_id": checkpoint_id}}


def _plain(config: RunnableConfig) -> dict[str, Any]:
    """Where it belongs; the rest of a config is the process's own."""
    told = config["configurable"]
    kept = {
        "thread_id": _thread(config),
        "checkpoint_ns": told.get("checkpoint_ns", ""),
    }
    parent = told.get("checkpoint_id")
    return {**kept, "checkpoint_id": parent} if parent else kept
