"""Reading a session's items, whichever provider's they are, without believing them.

An item is its agent's record. What has a known form becomes parts (a message, a call, a
result, reasoning, a compaction); whatever has none is `other`. Nothing raises.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal
from uuid import UUID

from approvals.context.pieces import json_of, texts_in, without_secrets
from kernel.secrets import find_secret
from kernel.suspicion import Suspicion, suspicions

type Kind = Literal["message", "call", "result", "reasoning", "compaction", "other"]
type Form = Literal["openai", "anthropic"]

OPAQUE: Final = frozenset({"reasoning", "compaction"})
REASONING: Final = frozenset({"reasoning", "thinking", "redacted_thinking"})
COMPACTION: Final = frozenset({"compaction", "compaction_summary"})
ANTHROPIC_BLOCKS: Final = frozenset(
    {"text", "tool_use", "tool_result", "thinking", "redacted_thinking", "image"}
    | {"document", "compaction"}
)
OPENAI_BLOCKS: Final = frozenset(
    {"input_text", "output_text", "input_image", "input_file", "refusal"}
)
ROLES: Final = {"human": "user", "ai": "assistant", "model": "assistant"}


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that an item says. `at` is its place among the item's blocks."""

    kind: Kind
    at: int | None = None
    role: str = ""
    text: str = ""
    call: str = ""  # the provider's id of a call, also on its result
    name: str = ""
    arguments: Any = None


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One item of the session as it is read here.

    `raw` is the text that arrived, or empty where secrets had to be taken out of it.
    `forms` are the providers that would take the item as it is.
    """

    position: int
    id: UUID
    run: UUID | None
    at: str
    raw: str
    value: Any
    parts: tuple[Part, ...]
    forms: frozenset[Form] = frozenset()
    redacted: bool = False
    flags: tuple[Suspicion, ...] = field(default=())

    @property
    def key(self) -> str:
        return f"item:{self.position}"

    @cached_property
    def is_reasoning(self) -> bool:
        return all(part.kind == "reasoning" for part in self.parts)

    def has(self, kind: Kind) -> bool:
        return any(part.kind == kind for part in self.parts)

    def is_from(self, role: str) -> bool:
        """Whether somebody in that role talks in it."""
        return any(part.kind == "message" and part.role == role for part in self.parts)


def read_item(raw: str, *, position: int, id: UUID, run: UUID | None, at: str) -> Entry:
    """One stored text as an entry. Never raises, whatever the text is."""
    place: Any = {"position": position, "id": id, "run": run, "at": at}
    try:
        value = json.loads(raw)
        parts = tuple(_parts(value)) or (Part("other", text=raw),)
        value, hidden = _redacted(value, parts)
        if hidden:
            parts = tuple(_parts(value)) or (Part("other", text=_plain(value)),)
        flags = _flags(parts)
    except (ValueError, RecursionError):
        return Entry(**place, raw=raw, value=None, parts=(Part("other"),))
    return Entry(
        **place,
        raw="" if hidden else raw,
        value=value,
        parts=parts,
        forms=_forms(value),
        redacted=hidden,
        flags=flags,
    )


def _redacted(value: Any, parts: tuple[Part, ...]) -> tuple[Any, bool]:
    """What is a provider's own machine state is never edited."""
    if all(part.kind in OPAQUE for part in parts) or find_secret(value) is None:
        return value, False
    return without_secrets(value), True


def _flags(parts: tuple[Part, ...]) -> tuple[Suspicion, ...]:
    """Only what was said in words can be taken for words of authority."""
    found: set[Suspicion] = set()
    for part in parts:
        if part.kind not in OPAQUE:
            found.update(_suspected(part))
    return tuple(sorted(found))


def _suspected(part: Part) -> Iterator[Suspicion]:
    """People and models instruct; what a tool brings in from outside must not."""
    talks = part.kind == "message" and part.role in {"user", "assistant"}
    for suspicion in suspicions(part.text):
        if suspicion != "instruction" or not talks:
            yield suspicion


def _parts(value: Any) -> Iterator[Part]:
    if not isinstance(value, Mapping):
        yield Part("other", text=_plain(value))
        return
    kind = _word(value, "type")
    if kind in COMPACTION:
        yield Part("compaction")
    elif kind in REASONING:
        yield Part("reasoning")
    elif kind and isinstance(value.get("call_id"), str):
        yield _called(kind, value)
    elif "role" in value:
        yield from _message(value)
    else:
        yield Part("other", text=_plain(value))


def _called(kind: str, value: Mapping[str, Any]) -> Part:
    """Of the Responses API: `…_call` and `…_call_output`, tied by `call_id`."""
    call = value["call_id"]
    if kind.endswith("_output"):
        return Part("result", call=call, text=_plain(value.get("output")))
    given = next((value[k] for k in ("arguments", "input", "action") if k in value), "")
    name = str(value.get("name") or kind.removesuffix("_call"))
    return Part("call", call=call, name=name, text=_plain(given), arguments=given)


def _message(value: Mapping[str, Any]) -> Iterator[Part]:
    role = str(value["role"])
    role = ROLES.get(role, role)
    content = value.get("content")
    answered = value.get("tool_call_id")
    if isinstance(answered, str):
        yield Part("result", call=answered, text=_plain(content))
        return
    if isinstance(content, list):
        for at, block in enumerate(content):
            yield _block(block, at, role)
    elif content is not None:
        yield Part("message", role=role, text=_plain(content))
    calls = value.get("tool_calls") or []
    for inner in calls if isinstance(calls, list) else (calls,):
        yield _chat_call(inner)


def _block(block: Any, at: int, role: str) -> Part:
    if not isinstance(block, Mapping):
        return Part("message", at, role, _plain(block))
    kind, id = _word(block, "type"), block.get("id")
    if kind == "tool_use" and isinstance(id, str):
        given, name = block.get("input"), str(block.get("name", "a tool"))
        return Part("call", at, text=_plain(given), call=id, name=name, arguments=given)
    answered = block.get("tool_use_id")
    if kind == "tool_result" and isinstance(answered, str):
        return Part("result", at, text=_plain(block.get("content")), call=answered)
    if kind in REASONING:
        return Part("reasoning", at)
    if kind in COMPACTION:
        return Part("compaction", at)
    text = next((block[k] for k in ("text", "refusal") if k in block), None)
    if text is None:
        return Part("other", at, role, _plain(block))
    return Part("message", at, role, _plain(text))


def _chat_call(inner: Any) -> Part:
    """Of the Chat Completions API: calls that hang on an assistant's message."""
    called = inner.get("function") if isinstance(inner, Mapping) else None
    if not isinstance(called, Mapping) or not isinstance(inner.get("id"), str):
        return Part("other", text=_plain(inner))
    given = called.get("arguments", "")
    return Part(
        "call",
        call=inner["id"],
        name=str(called.get("name", "a tool")),
        text=_plain(given),
        arguments=given,
    )


def _forms(value: Any) -> frozenset[Form]:
    """Which providers take the item verbatim."""
    if not isinstance(value, Mapping) or "tool_calls" in value:
        return frozenset()
    role, content = _word(value, "role"), value.get("content")
    blocks = (
        {_word(block, "type") for block in content if isinstance(block, Mapping)}
        if isinstance(content, list)
        else set()
    )
    if isinstance(value.get("type"), str):
        return frozenset({"openai"}) if blocks <= OPENAI_BLOCKS else frozenset()
    if role not in {"user", "assistant"} or set(value) - {"role", "content"}:
        return frozenset()
    if isinstance(content, str) and content:
        return frozenset({"openai", "anthropic"})
    if blocks and blocks <= ANTHROPIC_BLOCKS:
        return frozenset({"anthropic"})
    return frozenset({"openai"}) if blocks and blocks <= OPENAI_BLOCKS else frozenset()


def _word(value: Mapping[str, Any], name: str) -> str:
    """What stands there if it is a text: anything else is no name of anything."""
    found = value.get(name)
    return found if isinstance(found, str) else ""


def _plain(value: Any) -> str:
    """What a value says in words; texts inside of results are what is said there."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list) and all(
        isinstance(one, Mapping) and isinstance(one.get("text"), str) for one in value
    ):
        return "\n".join(one["text"] for one in value)
    try:
        return json_of(value)
    except ValueError:  # a number beyond a double
        return " ".join(texts_in(value))
