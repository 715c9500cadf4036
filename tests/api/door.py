"""A door of the API: one method at one address, and how to use it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from django.test import Client

from tests.api.world import Named, World

PREFIX: Final = "api/v1"
PAGE: Final = ("cursor", "limit")

type Body = Callable[[World], dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Door:
    """One method at one address.

    `place` has the world's names where the address has its parameters. `body` is one
    that is accepted, with every key that there is. `free` are the pointers below which
    any JSON is the caller's own; `nullable` those where null is an answer.
    """

    method: str
    route: str  # as the URLconf writes it
    place: str
    who: Literal["agent", "member"] = "agent"
    body: Body | None = None
    fence: Callable[[World], int] | None = None
    free: tuple[str, ...] = ()
    raw: tuple[str, ...] = ()  # free, and kept as text: any JSON at all
    nullable: tuple[str, ...] = ()
    query: tuple[str, ...] = ()
    optional_body: bool = False
    shared: bool = False  # every agent of the tenant finds the same behind it
    repeatable: bool = False  # done once however often, and no answer is kept
    kind: str = "application/json"  # of the body
    file: bytes = b""  # the body, where it is no JSON
    gives_file: bool = False  # of whatever type was put there

    @property
    def name(self) -> str:
        return f"{self.method} {self.place}"

    def address(self, world: World, **instead: str) -> str:
        """Where it is in this world, or with other names for its things."""
        return f"/{PREFIX}/{self.place.format_map(Named(world, **instead))}"

    def client(self, world: World) -> Client:
        """Someone who may use it."""
        if self.who == "member":
            return world.house.bob.scripted()
        return world.house.robot.client()

    def call(
        self,
        world: World,
        client: Client | None = None,
        *,
        raw: bytes | None = None,
        kind: str | None = None,
        address: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        """Use it as somebody who may, with its own body and fence; or otherwise."""
        client = client or self.client(world)
        sent = {**self.fenced(world), **(headers or {})}
        place = self.address(world) if address is None else address
        if self.method == "get":
            return client.get(place, headers=sent)
        body = self.sample(world) if raw is None else raw
        return client.generic(
            self.method.upper(),
            place,
            body,
            content_type=self.kind if kind is None else kind,
            headers=sent,
        )

    def sample(self, world: World) -> bytes:
        """The accepted body as it is sent."""
        from tests.api.attacks import text

        if self.file:
            return self.file
        return text(self.body(world) if self.body else {}).encode()

    def fenced(self, world: World) -> dict[str, str]:
        if self.fence is None:
            return {}
        return {"Keyturn-Fence": str(self.fence(world))}
