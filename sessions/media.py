"""What an artifact may be, and whether its bytes are that.

The list is short on purpose: what people attach to a decision, and nothing that a
browser or a desktop would run. The sender's word alone decides nothing.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_JSON_BEGINS: Final = re.compile(r'[ \t\r\n]*+[{\["\-0-9tfn]')
_NOT_IN_NAMES: Final = re.compile(r'[/\\:*?"<>|]')


@dataclass(frozen=True, slots=True)
class Media:
    """A type: what its bytes look like, and how its files' names end."""

    looks_right: Callable[[bytes], bool]
    endings: tuple[str, ...]
    served: str


def _begins(*magic: bytes) -> Callable[[bytes], bool]:
    return lambda content: content.startswith(magic)


def _webp(content: bytes) -> bool:
    return content[:4] == b"RIFF" and content[8:12] == b"WEBP"


def _text(content: bytes) -> bool:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return False
    return bool(text) and not _CONTROLS.search(text)


def _json(content: bytes) -> bool:
    return _text(content) and _JSON_BEGINS.match(content.decode()) is not None


def _written(looks_right: Callable[[bytes], bool], kind: str, *endings: str) -> Media:
    return Media(looks_right, endings, f"{kind}; charset=utf-8")


TYPES: Final[Mapping[str, Media]] = {
    "application/json": _written(_json, "application/json", ".json"),
    "application/pdf": Media(_begins(b"%PDF-"), (".pdf",), "application/pdf"),
    "image/gif": Media(_begins(b"GIF87a", b"GIF89a"), (".gif",), "image/gif"),
    "image/jpeg": Media(_begins(b"\xff\xd8\xff"), (".jpg", ".jpeg"), "image/jpeg"),
    "image/png": Media(_begins(b"\x89PNG\r\n\x1a\n"), (".png",), "image/png"),
    "image/webp": Media(_webp, (".webp",), "image/webp"),
    "text/csv": _written(_text, "text/csv", ".csv"),
    "text/markdown": _written(_text, "text/markdown", ".md"),
    "text/plain": _written(_text, "text/plain", ".txt", ".log"),
}
NAMES: Final = list(TYPES)


def is_what_it_says(content: bytes, media_type: str) -> bool:
    """Whether bytes that are said to be of a type of `TYPES` look like it."""
    return TYPES[media_type].looks_right(content)


def file_name(name: str, *, media_type: str, otherwise: str) -> str:
    """A name under which a download is safe to keep: it ends as its type does.

    Without what turns text around or leads to another folder; `otherwise` where nothing
    is left of it.
    """
    seen = (one for one in name if unicodedata.category(one)[0] != "C")
    kept = _NOT_IN_NAMES.sub("_", "".join(seen)).strip(" .") or otherwise
    endings = TYPES[media_type].endings
    return kept if kept.lower().endswith(endings) else kept + endings[0]
