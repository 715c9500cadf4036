"""What was cut out of a text before it was kept or shown: how many, and of which kind."""

import re
from collections import Counter
from typing import Final

from kernel.secrets import KINDS

_MARK: Final = re.compile(r"\[redacted: ([^,\[\]]{1,43})(?:, [0-9a-f]{8})?\]")
_OTHER: Final = "other"


def cut_words(text: str) -> str:
    """ "2 secrets cut out: GitHub token, npm token", or nothing.

    Anybody can write such a mark. So only kinds that we know are repeated, and no words
    of whoever wrote the text become ours.
    """
    found = [kind if kind in KINDS else _OTHER for kind in _MARK.findall(text)]
    if not found:
        return ""
    kinds = ", ".join(
        kind if count == 1 else f"{kind} ({count})"
        for kind, count in sorted(Counter(found).items())
    )
    return f"{len(found)} secret{'s' if len(found) > 1 else ''} cut out: {kinds}"
