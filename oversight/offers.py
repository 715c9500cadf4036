"""What could be agreed to beforehand: offered, kept as a policy's draft, or dismissed."""

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from approvals.pages.addresses import address
from approvals.pages.frame import frame
from approvals.pages.index import read_index
from approvals.presentation.shell import Notice
from approvals.services.offers import dismiss_offer, known_offer
from approvals.services.policy_drafts import save_policy_draft
from approvals.views.request import DeskRequest, missing_is_404, viewer_of
from kernel.problems import NOT_FOUND, Problem
from kernel.scope import tenant_transaction
from oversight.pages.offers import drafted, offers_view
from oversight.pages.policies import policy_place
from tenants.access import OVERSEERS
from tenants.pages import member_page


@member_page(roles=OVERSEERS)
@require_http_methods(["GET", "HEAD", "POST"])
def offers(request: DeskRequest) -> HttpResponse:
    """GET offers: rules with their bounds. POST: keep one's draft, or dismiss it."""
    if request.method != "POST":
        return _show(request)
    acts = {"draft": _draft, "dismiss": _dismiss}
    act = acts.get(request.POST.get("act", ""))
    try:
        with missing_is_404():
            if act is None:
                raise NOT_FOUND()
            return HttpResponseRedirect(act(request, _digest(request)))
    except Problem as problem:
        return _show(request, problem)


def _draft(request: DeskRequest, digest: bytes) -> str:
    """Kept as any other draft is: an administrator tries and publishes it."""
    with tenant_transaction(request.member.tenant_id):
        offer = known_offer(digest)
        draft = drafted(offer)
    if draft.definition is None:
        raise NOT_FOUND()
    save_policy_draft(
        tenant_id=request.member.tenant_id,
        by=request.member.member_id,
        name=draft.name,
        definition=draft.definition,
        note=f"Offered after {offer.count} approvals that were alike.",
    )
    return policy_place("policy", request.member.slug, draft.name)


def _dismiss(request: DeskRequest, digest: bytes) -> str:
    dismiss_offer(
        tenant_id=request.member.tenant_id, by=request.member.member_id, digest=digest
    )
    return address("offers", request.member.slug)


def _digest(request: DeskRequest) -> bytes:
    try:
        return bytes.fromhex(request.POST.get("digest", ""))
    except ValueError:
        raise NOT_FOUND() from None


def _show(request: DeskRequest, problem: Problem | None = None) -> HttpResponse:
    viewer = viewer_of(request)
    notice = _notice(problem) if problem else None
    with tenant_transaction(request.member.tenant_id):
        view = offers_view(viewer, notice=notice)
        shell = frame(request.user, viewer, read_index(viewer), place="policies")
    context = {"shell": shell, "offers": view}
    status = problem.status if problem else 200
    return render(request, "oversight/offers.html", context, status=status)


def _notice(problem: Problem) -> Notice:
    return Notice(
        title=problem.title,
        sentence=problem.detail,
        code=problem.code,
        tone="bad",
        icon="warn",
    )
