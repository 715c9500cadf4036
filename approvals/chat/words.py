"""Strangers' words for where a chat shows them: all of them, and nothing but words.

Three characters begin what a chat obeys (links, mentions, `<!everyone>`), and become
entities. Addresses, `@` and `:names:` are defused as in letters; what cannot be seen is
spelt out. So nothing here is a link, a mention or a picture, whoever shows it.
"""

import re
from typing import Final

from tenants.letters import inert

_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_CUT: Final = "…"
# Emphasis, code and strike-through of Markdown; inside a word a line is just a line.
_MARKS: Final = re.compile(r"[*~`]|(?<!\w)_|_(?!\w)")


def plain(text: str, most: int) -> str:
    """One line for a `plain_text` object, of up to `most` characters and at least one."""
    return fit(inert(text) or "-", most)


def unmarked(text: str, most: int) -> str:
    """The same for where Markdown would be obeyed."""
    line = _MARKS.sub(lambda found: f"[{found[0]}]", inert(text))
    return fit(line.replace("](", "] (") or "-", most)


def fit(text: str, most: int) -> str:
    """Escaped, and cut between characters to `most` units of UTF-16, with a mark."""
    pieces = [_ENTITIES.get(one, one) for one in text]
    if sum(map(_length, pieces)) <= most:
        return "".join(pieces)
    room, kept = most - len(_CUT), list[str]()
    for piece in pieces:
        room -= _length(piece)
        if room < 0:
            break
        kept.append(piece)
    return "".join(kept) + _CUT


def _length(piece: str) -> int:
    return sum(2 if one > "\uffff" else 1 for one in piece)
