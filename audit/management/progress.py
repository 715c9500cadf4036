"""A progress bar on the terminal, for commands that walk a whole chain."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from audit.verify import Progress as Report


@contextmanager
def shown_progress(name: str, *, hidden: bool) -> Iterator[Report]:
    """What to call with (done, total). Nothing is drawn where nobody watches."""
    console = Console(stderr=True)
    columns = (
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    disable = hidden or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=disable) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
