"""Workflows to begin with: each a JSON file beside this one, named after its kind."""

import json
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent
KINDS: Final = tuple(sorted(file.stem for file in FOLDER.glob("*.json")))


def shipped(kind: str) -> dict[str, Any] | None:
    """The definition that is shipped for a kind, if one is."""
    if kind not in KINDS:
        return None
    definition: dict[str, Any] = json.loads((FOLDER / f"{kind}.json").read_text())
    return definition
