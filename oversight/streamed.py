"""A page that is sent as it comes about: what is known, how far it is, what came of it.

Each word of progress is one more element, of which the style shows the last; so it needs
no script, and nothing of it is kept anywhere.
"""

from collections.abc import Callable
from typing import IO, Any, Final

import structlog
from django.db import DatabaseError
from django.http import HttpRequest, StreamingHttpResponse
from django.template.loader import render_to_string

from approvals.trial import Progress
from oversight.pages.piped import piped

MARK: Final = "<!-- trial -->"
STEP: Final = "oversight/parts/trial_step.html"
SHOWN: Final = "oversight/parts/trial.html"
LOST: Final = "oversight/parts/trial_lost.html"

log = structlog.get_logger(__name__)


def streamed_trial(
    request: HttpRequest,
    template: str,
    context: dict[str, Any],
    run: Callable[[Progress], object],
    *,
    focus: bool,
) -> StreamingHttpResponse:
    """The page, with what `run` gives in the place of its trial, once it is there.

    `run` is called in a thread, with a connection of its own.
    """
    head, _, tail = render_to_string(template, context, request).partition(MARK)

    def write(out: IO[bytes]) -> None:
        _send(out, f'{head}<div class="streamed">')
        _send(out, _outcome(out, run, focus=focus))
        _send(out, f"</div>{tail}")

    return StreamingHttpResponse(piped(write))


def _outcome(out: IO[bytes], run: Callable[[Progress], object], *, focus: bool) -> str:
    def tell(done: int, total: int) -> None:
        percent = 100 * done // total if total else 0
        _send(out, render_to_string(STEP, {"percent": percent}))

    try:
        trial = run(tell)
    except DatabaseError as error:  # the page is under way: it says so itself
        log.warning("trial_lost", error=type(error).__name__)
        return render_to_string(LOST)
    return render_to_string(SHOWN, {"trial": trial, "focus": focus})


def _send(out: IO[bytes], text: str) -> None:
    out.write(text.encode())
    out.flush()
