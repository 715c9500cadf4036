"""Reading a list of items without changing a byte of them.

Items are evidence and another program's own: they may hold what strict JSON refuses
(a null character, half a surrogate pair, numbers beyond a double), so they are cut out
of the body as text. Everything around them is read strictly.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder
from typing import IO, Any, Final

from rest_framework.parsers import BaseParser

from kernel.strict_json import DEPTH, DUPLICATE_KEY, ENCODING, SYNTAX, TOO_LARGE, parse
from tenants.rest.bodies import body_limit

ITEMS: Final = "items"
_SPACE: Final = re.compile(r"[ \t\n\r]*+")


class ItemsParser(BaseParser):
    """`application/json` whose `items` become a list of JSON texts."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:  # what `parse` gives back; the base class knows objects alone
        context = parser_context or {}
        limit = body_limit(context.get("view"))
        body = bytes(stream.read(limit + 1))
        if len(body) > limit:
            raise TOO_LARGE(f"At most {limit} bytes are read here.")
        context["request"].raw_body = body
        return read_items(body)


def read_items(body: bytes) -> Any:
    """The members of an object, strictly read, but `items` as the texts of its items.

    Raises `Problem` 400 `json.…`.
    """
    try:
        return _Cut(body.decode()).members()
    except UnicodeDecodeError as error:
        raise ENCODING(f"Byte {error.start} is not UTF-8.") from None
    except JSONDecodeError as error:
        raise SYNTAX(f"{error.msg} (character {error.pos}).") from None
    except RecursionError:
        raise DEPTH("An item is nested too deeply.") from None


def _no_number(name: str) -> Any:
    raise JSONDecodeError(f"{name} is not JSON", name, 0)


# Values are only measured: no number is converted, however long it is.
_MEASURE: Final = JSONDecoder(parse_int=str, parse_float=str, parse_constant=_no_number)


@dataclass(slots=True)
class _Cut:
    """A place in a text, moving on."""

    text: str
    at: int = 0

    def members(self) -> Any:
        self.space()
        if not self.text.startswith("{", self.at):
            return parse(self.text.encode(), limit=len(self.text.encode()))
        members: dict[str, Any] = {}
        for _ in self.parts("{", "}"):
            key = self.key()
            if key in members:
                raise DUPLICATE_KEY(f"The key {key!r} occurs more than once.")
            members[key] = self.items() if key == ITEMS else self.strict()
        if self.at != len(self.text):
            raise JSONDecodeError("Extra data", self.text, self.at)
        return members

    def items(self) -> Any:
        if not self.text.startswith("[", self.at):
            return self.strict()
        return [self.value() for _ in self.parts("[", "]")]

    def parts(self, opening: str, closing: str) -> Any:
        """Come to each of the parts between the brackets; leave after the last."""
        self.expect(opening)
        if not self.text.startswith(closing, self.at):
            yield
            while self.text.startswith(",", self.at):
                self.expect(",")
                yield
        self.expect(closing)

    def key(self) -> str:
        if not self.text.startswith('"', self.at):
            raise JSONDecodeError("Expecting a key in quotes", self.text, self.at)
        key = self.strict()
        self.expect(":")
        return str(key)

    def strict(self) -> Any:
        return parse(self.value().encode(), limit=len(self.text) * 4)

    def value(self) -> str:
        start = self.at
        _, self.at = _MEASURE.raw_decode(self.text, start)
        text = self.text[start : self.at]
        self.space()
        return text

    def expect(self, mark: str) -> None:
        if not self.text.startswith(mark, self.at):
            raise JSONDecodeError(f"Expecting {mark!r}", self.text, self.at)
        self.at += 1
        self.space()

    def space(self) -> None:
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
