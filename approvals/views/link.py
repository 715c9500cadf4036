"""The short link that agents hand out. It finds a case and authorises nothing."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from approvals.access import visible_queues
from approvals.models import Request
from approvals.pages.addresses import address
from kernel.scope import tenant_transaction
from tenants.access import Membership, open_memberships
from tenants.models import Member


@login_required
@require_safe
def link(request: HttpRequest, id: UUID) -> HttpResponse:
    """GET r/{id}: to the case in whichever of the person's tenants it is; else 404."""
    for membership in open_memberships(request):
        if _is_seen(membership, id):
            return redirect(address("case", membership.slug, id))
    raise Http404


def _is_seen(membership: Membership, id: UUID) -> bool:
    with tenant_transaction(membership.tenant_id):
        viewer = Member.objects.get(id=membership.member_id)
        seen = Request.objects.filter(id=id, queue_id__in=visible_queues(viewer))
        return seen.exists()
