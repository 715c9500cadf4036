"""Parse XML that a stranger sent, with the standard library and without its traps.

Entity expansion and external entities both need a document type declaration, so a
document that has one is refused before a parser sees it. Forcing UTF-8 closes the
way around that: under another encoding the declaration would be spelled in bytes
that the search does not find.
"""

from typing import Any
from xml.etree import ElementTree

MAX_BYTES = 4 * 1024 * 1024
MAX_ELEMENTS = 60_000
MAX_DEPTH = 24


class DocumentRefused(ValueError):
    """A document was refused. `code` is stable, `detail` is for people.

    Codes: too_large, not_utf8, has_dtd, too_deep, too_many_elements, not_xml, and
    what `documents` adds: wrong_document, missing, ambiguous, invalid, not_found.
    """

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


def parse(data: bytes) -> ElementTree.Element:
    """Return the root element, or raise `DocumentRefused`."""
    parser = ElementTree.XMLParser(target=_BoundedBuilder(), encoding="utf-8")  # noqa: S314 - no DTD reaches it
    try:
        parser.feed(_checked_text(data))
        root: ElementTree.Element = parser.close()
    except ElementTree.ParseError as error:
        raise DocumentRefused("not_xml", str(error)) from error
    return root


def _checked_text(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise DocumentRefused("too_large", f"{len(data)} bytes, at most {MAX_BYTES}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentRefused("not_utf8", f"byte {error.start}") from error
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise DocumentRefused("has_dtd", "a document type declaration is not allowed")
    return text


class _BoundedBuilder(ElementTree.TreeBuilder):
    """Builds the tree, and stops at the first element past a limit."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0
        self._elements = 0

    def start(self, tag: Any, attrs: Any, /) -> ElementTree.Element:
        self._depth += 1
        self._elements += 1
        if self._depth > MAX_DEPTH:
            raise DocumentRefused("too_deep", f"more than {MAX_DEPTH} levels")
        if self._elements > MAX_ELEMENTS:
            raise DocumentRefused("too_many_elements", f"more than {MAX_ELEMENTS}")
        return super().start(tag, attrs)

    def end(self, tag: Any, /) -> ElementTree.Element:
        self._depth -= 1
        return super().end(tag)
