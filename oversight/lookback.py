"""Pages about people as the log has them: what one did, who could have done what."""

from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from approvals.pages.frame import frame
from approvals.pages.index import read_index
from approvals.pages.viewer import Viewer
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.problems import NOT_FOUND
from kernel.scope import tenant_transaction
from oversight.pages.doings import doings_view
from oversight.pages.rights.page import rights_document, rights_view
from oversight.queries import visible_requests
from oversight.showing import page
from tenants.access import OVERSEERS
from tenants.pages import member_page


@member_page(roles=OVERSEERS)
@require_safe
def person_history(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET people/{id}/history[?sort=…&before=…]: everything that this person did."""
    sort, before = request.GET.get("sort", ""), request.GET.get("before", "")
    return page(
        request,
        "person_history.html",
        lambda _: {"doings": doings_view(request.member, id, sort, before)},
        place="people" if request.member.administers else "audit",
    )


@member_page
@require_safe
def rights_then(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET requests/{id}/rights[?at=…]: who could have approved it then; 422 for no time."""
    viewer = viewer_of(request)
    with missing_is_404(), tenant_transaction(request.member.tenant_id, snapshot=True):
        _require_overseer(viewer, id)
        view = rights_view(viewer, id, request.GET.get("at", ""))
        shell = frame(request.user, viewer, read_index(viewer), place="queue")
    context = {"shell": shell, "rights": view}
    status = 422 if view.errors else 200
    return render(request, "oversight/rights_then.html", context, status=status)


@member_page
@require_safe
def rights_then_json(request: DeskRequest, id: UUID) -> HttpResponse:
    """GET requests/{id}/rights.json[?at=…]: the same by ids, for programs."""
    viewer = viewer_of(request)
    with missing_is_404(), tenant_transaction(request.member.tenant_id, snapshot=True):
        _require_overseer(viewer, id)
        document = rights_document(viewer, id, request.GET.get("at", ""))
    return JsonResponse(document)


def _require_overseer(viewer: Viewer, request_id: UUID) -> None:
    """Others learn that it is not for them, of what they see, and else nothing."""
    if viewer.membership.oversees:
        return
    if not visible_requests(viewer).filter(id=request_id).exists():
        raise NOT_FOUND()
    raise PermissionDenied
