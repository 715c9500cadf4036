"""What the demo is doing, a line a step: a spinner for people, plain text for logs."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.text import Text

WORTH_SAYING: Final = 0.5  # seconds; a step below it needs no figure
NOW_AND_THEN: Final = 5.0  # seconds between two lines of a log about one step

type Tell = Callable[[str], None]
"""Says how far a step has come."""


class Steps:
    """Draws on `console`; nothing at all when it is quiet."""

    def __init__(self, console: Console, *, every: float = NOW_AND_THEN) -> None:
        self._console = console
        self._every = every
        self._number = self._expected = 0

    def expect(self, count: int) -> None:
        """That many more steps will come: each then says which of them it is."""
        self._expected += count

    @contextmanager
    def step(self, doing: str, done: str = "") -> Iterator[Tell]:
        """Show what is being done, and afterwards that it was, and how long it took."""
        began = time.monotonic()
        place = self._next_place()
        if self._console.is_terminal:
            with self._console.status(Text(place + doing), spinner="dots") as status:
                yield lambda far: status.update(Text(f"{place}{doing}: {far}"))
        else:
            yield self._logged(f"{place}{doing}")
        self.say(f"{place}{done or doing}", time.monotonic() - began)

    def say(self, text: str, seconds: float = 0.0) -> None:
        """One line that something is so."""
        line = Text.assemble(("✓ ", "green"), text)
        if seconds >= WORTH_SAYING:
            line.append(f"  {seconds:.1f} s", "dim")
        self._console.print(line, soft_wrap=True)

    def _next_place(self) -> str:
        self._number += 1
        return f"{self._number}/{self._expected} " if self._expected else ""

    def _logged(self, doing: str) -> Tell:
        """At first and then now and then: a log neither fills up nor falls silent."""
        last = -self._every

        def tell(far: str) -> None:
            nonlocal last
            if time.monotonic() - last >= self._every:
                self._console.print(Text(f"… {doing}: {far}"), soft_wrap=True)
                last = time.monotonic()

        return tell
