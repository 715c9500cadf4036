"""What the demo is doing, a line a step: a spinner for people, plain text for logs."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.text import Text

WORTH_SAYING: Final = 0.5  # seconds; a step below it needs no figure


class Steps:
    """Draws on `console`; nothing at all when it is quiet."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @contextmanager
    def step(self, doing: str, done: str = "") -> Iterator[None]:
        """Show what is being done, and afterwards that it was, and how long it took."""
        began = time.monotonic()
        if self._console.is_terminal:
            with self._console.status(Text(doing), spinner="dots"):
                yield
        else:
            yield
        self.say(done or doing, time.monotonic() - began)

    def say(self, text: str, seconds: float = 0.0) -> None:
        """One line that something is so."""
        line = Text.assemble(("✓ ", "green"), text)
        if seconds >= WORTH_SAYING:
            line.append(f"  {seconds:.1f} s", "dim")
        self._console.print(line, soft_wrap=True)
