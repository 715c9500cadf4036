"""Every component in every state, for whoever changes one."""

import re
from pathlib import Path
from typing import Final

from django.conf import settings
from django.contrib.staticfiles import finders
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from approvals.presentation.specimens import specimens

COLOUR: Final = re.compile(r"--([a-z0-9-]+): (?:light-dark|var)\(")
SYMBOL: Final = re.compile(r'<symbol id="([a-z-]+)"')


@require_safe
def styleguide(request: HttpRequest) -> HttpResponse:
    """GET styleguide: nothing of any tenant, and there only while DEBUG is on."""
    if not settings.DEBUG:
        raise Http404
    drawn = {
        "guide": specimens(),
        "colours": _named(COLOUR, "css/tokens.css"),
        "symbols": _named(SYMBOL, "icons.svg"),
    }
    return render(request, "styleguide.html", drawn)


def _named(what: re.Pattern[str], path: str) -> list[str]:
    """All names of a kind that a static file has, so that the page leaves none out."""
    found = finders.find(path)
    assert isinstance(found, str)
    return list(dict.fromkeys(what.findall(Path(found).read_text())))
