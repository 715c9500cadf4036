"""What an action is called on the page: made by us from the exact action alone."""

import re
from typing import Any, Final

from kernel.canonical import canonical_bytes

LONGEST: Final = 300
PLACE: Final = re.compile(r"\{([a-z0-9_.]+)\}", re.IGNORECASE)


def has_title(definition: dict[str, Any]) -> bool:
    """Whether whoever defined the tool worded its title; else all of it is an agent's."""
    return isinstance(definition.get("title"), str)


def title_of(definition: dict[str, Any], tool: str, arguments: dict[str, Any]) -> str:
    """The tool's own title with its arguments' values; else name and first values."""
    if not has_title(definition):
        return shorten(f"{tool} {_first_values(arguments)}".strip())
    return shorten(
        PLACE.sub(lambda place: _value(arguments, place[1]), definition["title"])
    )


def size_of(definition: dict[str, Any], arguments: dict[str, Any]) -> str:
    """How much it is about ("−€1,240.00"), where the tool says how to tell."""
    template = definition.get("size")
    if not isinstance(template, str):
        return ""
    return shorten(PLACE.sub(lambda place: _value(arguments, place[1]), template))


def _value(arguments: Any, path: str) -> str:
    for step in path.split("."):
        arguments = arguments.get(step) if isinstance(arguments, dict) else None
    return "?" if arguments is None else spelt(arguments)


def _first_values(arguments: dict[str, Any]) -> str:
    simple = [v for v in arguments.values() if isinstance(v, str | int | float)]
    return ", ".join(spelt(value) for value in simple[:3])


def spelt(value: Any) -> str:
    """As the exact action spells it: 100 and not 100.0, true and not True."""
    return value if isinstance(value, str) else canonical_bytes(value).decode()


def shorten(text: str) -> str:
    """One line, cut with a mark that says so; the case shows the whole."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
