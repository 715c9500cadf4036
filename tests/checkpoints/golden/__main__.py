"""Restore one golden fixture and print the digests: a process of its own, to be compared.

python -m tests.checkpoints.golden invoice 1
"""

import json
import sys
from pathlib import Path
from typing import Any

import config.demo.upgrades  # noqa: F401  # registers the steps
from checkpoints.upgrades import Content, registry, upgrade

HERE = Path(__file__).parent


def fixture(kind: str, version: int) -> list[dict[str, Any]]:
    """The cases that a release with that schema saved."""
    cases: list[dict[str, Any]] = json.loads(
        (HERE / kind / f"{version}.json").read_text()
    )
    return cases


def restored(kind: str, version: int, case: dict[str, Any]) -> Content:
    """In the newest schema."""
    content = Content(case["payload"].encode(), case["header"])
    steps = [one for one in registry.steps(kind) if one.from_version >= version]
    return upgrade(content, steps)[0]


if __name__ == "__main__":
    kind, version = sys.argv[1], int(sys.argv[2])
    for case in fixture(kind, version):
        print(restored(kind, version, case).digest.hex())
