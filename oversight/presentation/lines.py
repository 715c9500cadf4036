"""Two definitions line by line."""

import json
from collections.abc import Mapping
from difflib import unified_diff
from typing import Any


def lines_between(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[tuple[str, str], ...]:
    """(mark, text) of each line that differs, with two lines around it."""
    old, new = (
        json.dumps(one, indent=2, ensure_ascii=False, sort_keys=True).splitlines()
        for one in (before, after)
    )
    found = unified_diff(old, new, n=2, lineterm="")
    return tuple((line[:1], line[1:]) for line in list(found)[2:])
