"""Every component in every state, for whoever changes one."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from approvals.presentation.specimens import specimens


@require_safe
def styleguide(request: HttpRequest) -> HttpResponse:
    """GET styleguide: nothing of any tenant, and there only while DEBUG is on."""
    if not settings.DEBUG:
        raise Http404
    guide = specimens()
    return render(
        request, "styleguide.html", {"guide": guide, "case": {"now": guide.now}}
    )
