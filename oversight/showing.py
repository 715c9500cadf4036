"""How a page that looks back or administers is drawn: all of it as of one scope.

And how what it offers to take away is sent: as a file, which no browser shows.
"""

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from approvals.pages.frame import frame
from approvals.pages.index import read_index
from approvals.pages.viewer import Viewer
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.scope import tenant_transaction


def page(
    request: DeskRequest,
    template: str,
    view: Callable[[Viewer], Mapping[str, Any]],
    *,
    place: str,
    status: int = 200,
) -> HttpResponse:
    """`view` reads inside the tenant's scope; what it does not find is a 404."""
    viewer = viewer_of(request)
    with missing_is_404(), tenant_transaction(request.member.tenant_id):
        shell = frame(request.user, viewer, read_index(viewer), place=place)
        context = {"shell": shell, **view(viewer)}
    return render(request, f"oversight/{template}", context, status=status)


def attached[R: HttpResponseBase](answer: R, name: str) -> R:
    """As a file of that name, which is one of ours and needs no quoting."""
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
