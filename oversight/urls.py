"""Addresses of the pages that look back."""

from django.urls import path

from oversight import (
    audit_log,
    insights,
    lookback,
    offers,
    policies,
    session,
    system,
    traces,
    views,
    workflows,
)
from oversight.administration.paths import PATHS
from oversight.api import audit as audit_api
from oversight.sso.urls import PATHS as SIGN_IN
from sessions.addresses import SHA256

API = "api/v1"

urlpatterns = [
    path(f"{API}/audit", audit_api.audit),
    path(f"{API}/runs/<uuid:id>/bundle", audit_api.bundle),
    path("t/<slug:slug>/runs", views.runs, name="runs"),
    path("t/<slug:slug>/runs/<uuid:id>", views.run, name="run"),
    path("t/<slug:slug>/runs/<uuid:id>/state", workflows.state, name="run_state"),
    path("t/<slug:slug>/runs/<uuid:id>/session", session.session, name="session"),
    path("t/<slug:slug>/runs/<uuid:id>/hold", session.hold, name="hold"),
    path("t/<slug:slug>/runs/<uuid:id>/hold/lift", session.lift, name="lift_hold"),
    path(
        f"t/<slug:slug>/runs/<uuid:id>/files/<{SHA256}:digest>",
        session.file,
        name="file",
    ),
    path("t/<slug:slug>/workflows", workflows.workflows, name="workflows"),
    path("t/<slug:slug>/new-workflow", workflows.edit, name="workflow_new"),
    path("t/<slug:slug>/workflows/<slug:kind>", workflows.workflow, name="workflow"),
    path(
        "t/<slug:slug>/workflows/<slug:kind>/edit",
        workflows.edit,
        name="workflow_edit",
    ),
    path(
        "t/<slug:slug>/workflows/<slug:kind>/draft",
        workflows.draft,
        name="workflow_draft",
    ),
    path(
        "t/<slug:slug>/workflows/<slug:kind>/export",
        workflows.export,
        name="workflow_export",
    ),
    path("t/<slug:slug>/offers", offers.offers, name="offers"),
    path("t/<slug:slug>/policies", policies.policies, name="policies"),
    path("t/<slug:slug>/new-policy", policies.edit, name="policy_new"),
    path("t/<slug:slug>/policies/<slug:name>", policies.policy, name="policy"),
    path("t/<slug:slug>/policies/<slug:name>/edit", policies.edit, name="policy_edit"),
    path("t/<slug:slug>/policies/<slug:name>/act", policies.act, name="policy_act"),
    path("t/<slug:slug>/runs/<uuid:id>/attend", views.attend, name="attend"),
    path("t/<slug:slug>/runs/<uuid:id>/trace", traces.trace, name="trace"),
    path(
        "t/<slug:slug>/runs/<uuid:id>/trace.json", traces.trace_json, name="trace_json"
    ),
    path(
        "t/<slug:slug>/runs/<uuid:id>/agentack.jsonl",
        traces.trace_agentack,
        name="trace_agentack",
    ),
    path("t/<slug:slug>/runs/<uuid:id>/bundle", traces.bundle, name="run_bundle"),
    path("t/<slug:slug>/verify_bundle.py", traces.verifier, name="verify_bundle"),
    path(
        "t/<slug:slug>/people/<uuid:id>/history",
        lookback.person_history,
        name="person_history",
    ),
    path(
        "t/<slug:slug>/requests/<uuid:id>/rights",
        lookback.rights_then,
        name="rights_then",
    ),
    path(
        "t/<slug:slug>/requests/<uuid:id>/rights.json",
        lookback.rights_then_json,
        name="rights_then_json",
    ),
    path("t/<slug:slug>/system", system.system, name="system"),
    path("t/<slug:slug>/readiness", system.readiness, name="readiness"),
    path("t/<slug:slug>/insights", insights.insights, name="insights"),
    path("t/<slug:slug>/audit", audit_log.audit, name="audit"),
    path("t/<slug:slug>/audit/verify", audit_log.verify, name="audit_verify"),
    path("t/<slug:slug>/audit/export", audit_log.export, name="audit_export"),
    path(
        "t/<slug:slug>/audit/verify_export.py",
        audit_log.verifier,
        name="verify_export",
    ),
    path(
        "t/<slug:slug>/audit/audit-public.pem",
        audit_log.public_keys,
        name="audit_keys",
    ),
    path("t/<slug:slug>/audit/anchors.ndjson", audit_log.anchors, name="audit_anchors"),
    path("t/<slug:slug>/drills", views.drills, name="drills"),
    *PATHS,
    *SIGN_IN,
]
