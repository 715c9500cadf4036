"""`make pictures`: the pictures of the documentation, out of those that were just made."""

import shutil
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
MADE: Final = ROOT / "var" / "screenshots"
SHOWN: Final = ROOT / "docs" / "images"
# By the name of the screenshot; the README shows the first.
PAGES: Final = {
    "case-two-keys": "queue",
    "trace": "trace",
    "audit": "audit",
    "insights": "insights",
    "policy": "policy",
}


def main() -> None:
    """Replace what is shown. Raises FileNotFoundError for a page without a picture."""
    for width in ("wide", "phone"):
        for scheme in ("light", "dark"):
            for name, shown in PAGES.items():
                suffix = "" if width == "wide" else "-phone"
                target = SHOWN / f"{shown}{suffix}-{scheme}.png"
                shutil.copyfile(MADE / f"{width}-{scheme}" / f"{name}.png", target)


if __name__ == "__main__":
    main()
