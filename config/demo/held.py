"""Lines of the programs, which wait until the demo has said what it has to say."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from config.embedded.prefixed import Output


class Held:
    """A place for text that passes it on once it is released, in its order.

    Several threads may write to it.
    """

    def __init__(self, output: Output) -> None:
        self._output = output
        self._waiting: list[str] | None = []
        self._lock = threading.Lock()

    def write(self, text: str) -> int:
        """Take `text`: for later, or at once."""
        with self._lock:
            if self._waiting is None:
                return self._output.write(text)
            self._waiting.append(text)
            return len(text)

    def flush(self) -> None:
        self._output.flush()

    def isatty(self) -> bool:
        """Whether colours would be seen in the end."""
        return self._output.isatty()

    def release(self) -> None:
        """Write what waited; from now on nothing does."""
        with self._lock, suppress(BrokenPipeError):  # as where nothing waits
            waiting, self._waiting = self._waiting or [], None
            self._output.write("".join(waiting))
            self._output.flush()


@contextmanager
def held(output: Output) -> Iterator[Held]:
    """Released at the latest where this ends: why it ended may be in what waited."""
    lines = Held(output)
    try:
        yield lines
    finally:
        lines.release()
