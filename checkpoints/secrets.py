"""`secret://name`: a credential that is used and never seen.

It stands in the arguments of a managed tool, as a whole text, or at the end of one of
the tool's own headers. A name is for one tool at one host. Its value comes from outside
the database at the moment of the call, goes to the tool, and is cut out of what the tool
says in return.
"""

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

from django.conf import settings

from checkpoints.definition import Terms
from checkpoints.models import SecretName, Tool
from checkpoints.outbound import Answer
from kernel.problems import Kind, declare
from kernel.scope import tenant_transaction
from kernel.strict_json import Json, pointer_to
from tenants.models import Tenant

SECRET_UNKNOWN: Final = declare(
    "secret_unknown", status=422, title="No secret of this name is registered"
)
SECRET_OF_ANOTHER_TOOL: Final = declare(
    "secret_of_another_tool", status=422, title="The secret is for another tool"
)
SECRET_OF_ANOTHER_HOST: Final = declare(
    "secret_of_another_host", status=422, title="The secret is for another host"
)
SECRET_NEEDS_MANAGED_TOOL: Final = declare(
    "secret_needs_managed_tool",
    status=422,
    title="Secrets are filled in for tools that Keyturn calls itself",
)
NO_VALUE: Final = "secret_missing"
"""In an attempt's evidence: the worker has no value of that name to send."""

PREFIX: Final = "secret://"
NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
MAX_NAME: Final = 64
_IN_HEADER: Final = re.compile(r"(?:[!-~]{1,40} )?(?P<reference>secret://\S*)")
_LEAST, _MOST = 8, 64 * 1024  # characters: a shorter value could not be cut out again
_VISIBLE: Final = re.compile(r"[!-~]+")

type Way = tuple[str | int, ...]
type Place = tuple[str, str]
"""Where a reference stands, and the name in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One place of a secret. `why` is empty, or the kind of its refusal."""

    name: str
    pointer: str
    host: str = ""
    why: Kind | None = None


class Withheld(Exception):
    """A secret is not to be had for this call, of which nothing was sent."""

    def __init__(self, code: str, name: str) -> None:
        super().__init__(code, name)
        self.code = code
        self.name = name


@dataclass(frozen=True, slots=True)
class Values:
    """The values that one call needs, by name. Never shown."""

    of: Mapping[str, str] = field(default_factory=dict, repr=False)

    def in_arguments(self, value: Json) -> Any:
        """The value with each reference replaced by what it stands for."""
        if isinstance(value, str):
            return self.of[value.removeprefix(PREFIX)] if _refers(value) else value
        if isinstance(value, Mapping):
            return {name: self.in_arguments(one) for name, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.in_arguments(one) for one in value]
        return value

    def in_headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        return {name: self._in_header(text) for name, text in headers.items()}

    def cut_out(self, text: bytes) -> bytes:
        """Without the values, in any of the forms that an answer repeats them in."""
        for name, value in self.of.items():
            for form in sorted(_forms(value), key=len, reverse=True):
                text = text.replace(form, f"{PREFIX}{name}".encode())
        return text

    def cut_out_of(self, answer: Answer) -> Answer:
        return replace(answer, body=self.cut_out(answer.body))

    def _in_header(self, text: str) -> str:
        name = _name_in_header(text)
        if name is None:
            return text
        if not _VISIBLE.fullmatch(self.of[name]):
            raise Withheld(NO_VALUE, name)
        return text.removesuffix(PREFIX + name) + self.of[name]


def host_of(url: str) -> str:
    """Whom a URL talks to: its host, with the port unless it is that of https.

    Without https the scheme is part of it: what is said there is heard on the way.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    if parts.scheme != "https":
        return f"{parts.scheme}://{host}:{parts.port or 80}"
    return host if parts.port in (None, 443) else f"{host}:{parts.port}"


def refuse_unusable(tool: Tool, arguments: Json, *, pointer: str) -> None:
    """Refuse names in arguments that the tool may not use, with their place.

    Raises `secret_unknown`, `secret_of_another_tool`, `secret_of_another_host`,
    `secret_needs_managed_tool` (422). Inside the tenant's scope.
    """
    for use in uses(tool, list(_in_arguments(arguments, ()))):
        if use.why is not None:
            raise use.why(f"{PREFIX}{use.name}", pointer + use.pointer)


def refuse_unusable_headers(tool: Tool, *, pointer: str) -> None:
    """As `refuse_unusable`, for what the tool's own headers name."""
    for use in uses(tool, _in_headers(tool)):
        if use.why is not None:
            raise use.why(f"{PREFIX}{use.name}, in {use.pointer}", pointer)


def uses_in_call(tool: Tool, arguments: Json) -> list[Use]:
    """Every secret that a call would use, and whether it may. Inside the scope."""
    return uses(tool, _places(tool, arguments))


def uses(tool: Tool, places: Sequence[Place], url: str = "") -> list[Use]:
    """What stands at these places, judged as it is now."""
    if not places:
        return []
    managed = tool.mode == Tool.Mode.MANAGED
    host = host_of(url or Terms.of(tool).url) if managed else ""
    rows = SecretName.objects.filter(
        tenant_id=tool.tenant_id, name__in={name for _, name in places}, revoked_at=None
    )
    known = {row.name: row for row in rows}
    return [
        _judged(tool, host, known.get(name), Use(name=name, pointer=pointer))
        for pointer, name in places
    ]


def values_for(tool: Tool, url: str, arguments: Json = None) -> Values:
    """What a call of the tool at that URL needs. Outside any transaction.

    Raises `Withheld` if a name may not be used (any more), or has no value here.
    """
    places = _places(tool, arguments)
    if not places:
        return Values()
    with tenant_transaction(tool.tenant_id):
        found = uses(tool, places, url)
        slug = Tenant.objects.values_list("slug", flat=True).get(id=tool.tenant_id)
    for use in found:
        if use.why is not None:
            raise Withheld(use.why.code, use.name)
    return Values({name: _value(slug, name) for name in {use.name for use in found}})


def is_present(slug: str, name: str) -> bool:
    """Whether this process could fill the name in."""
    try:
        return bool(_value(slug, name))
    except Withheld:
        return False


def variable_of(slug: str, name: str) -> str:
    """The environment variable of one tenant's secret.

    Two names never share one: in the text after the prefix, what follows the last two
    underscores is the secret's name, which has no two of them itself.
    """
    return f"KEYTURN_SECRET_{slug.replace('-', '_')}__{name}".upper()


def _judged(tool: Tool, host: str, row: SecretName | None, use: Use) -> Use:
    if tool.mode != Tool.Mode.MANAGED:
        return replace(use, why=SECRET_NEEDS_MANAGED_TOOL)
    if row is None:
        return replace(use, why=SECRET_UNKNOWN)
    if row.tool_id != tool.id:
        return replace(use, why=SECRET_OF_ANOTHER_TOOL)
    why = None if row.host == host else SECRET_OF_ANOTHER_HOST
    return replace(use, host=row.host, why=why)


def _value(slug: str, name: str) -> str:
    """From the environment, or from a file of the folder for it."""
    text = os.environ.get(variable_of(slug, name))
    if text is None:
        text = _read(Path(settings.SECRETS_DIR) / slug / name)
    if text is None or not _LEAST <= len(text) <= _MOST:
        raise Withheld(NO_VALUE, name)
    return text


def _read(path: Path) -> str | None:
    try:
        return path.read_text().removesuffix("\n")
    except (OSError, UnicodeDecodeError):
        return None


def _refers(text: str) -> bool:
    return text.startswith(PREFIX)


def _in_arguments(value: Json, path: Way) -> Iterator[Place]:
    """Places and names, in document order; keys are never references."""
    if isinstance(value, str) and _refers(value):
        yield pointer_to(path), value.removeprefix(PREFIX)
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from _in_arguments(one, (*path, name))
    elif isinstance(value, list | tuple):
        for position, one in enumerate(value):
            yield from _in_arguments(one, (*path, position))


def _in_headers(tool: Tool) -> list[Place]:
    headers = Terms.of(tool).headers.items()
    named = ((f"header {key}", _name_in_header(text)) for key, text in headers)
    return [(place, name) for place, name in named if name is not None]


def _places(tool: Tool, arguments: Json) -> list[Place]:
    return [*_in_arguments(arguments, ()), *_in_headers(tool)]


def _name_in_header(text: str) -> str | None:
    match = _IN_HEADER.fullmatch(text)
    return match["reference"].removeprefix(PREFIX) if match else None


def _forms(value: str) -> set[bytes]:
    """A value as text, in JSON (and in JSON in that), in an address, and in base64."""
    once = _in_json({value})
    texts = {value, *once, *_in_json(once), quote(value), quote(value, safe="")}
    encoded = b64encode(value.encode()).rstrip(b"=")
    return {encoded, *(text.encode() for text in texts)}


def _in_json(texts: set[str]) -> set[str]:
    return {
        json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        for text in texts
        for ascii_only in (True, False)
    }
