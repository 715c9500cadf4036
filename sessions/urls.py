"""Addresses of sessions and runs."""

from django.urls import path

from sessions.addresses import SHA256
from sessions.api import (
    artifacts,
    history,
    items,
    runs,
    sessions,
    transitions,
    workflows,
)

SESSIONS = "api/v1/sessions"
RUNS = "api/v1/runs"
WORKFLOWS = "api/v1/workflows"

ARTIFACT = f"{SESSIONS}/<uuid:id>/artifacts/<{SHA256}:digest>"

urlpatterns = [
    path(SESSIONS, sessions.SessionsView.as_view()),
    path(f"{SESSIONS}/<uuid:id>", sessions.SessionView.as_view()),
    path(f"{SESSIONS}/<uuid:id>/items", items.ItemsView.as_view()),
    path(f"{SESSIONS}/<uuid:id>/items/pop", items.PopView.as_view()),
    path(f"{SESSIONS}/<uuid:id>/items/clear", items.ClearView.as_view()),
    path(f"{SESSIONS}/<uuid:id>/items/replace", items.ReplaceView.as_view()),
    path(f"{SESSIONS}/<uuid:id>/branches", items.BranchesView.as_view()),
    path(f"{SESSIONS}/<uuid:id>/artifacts", artifacts.ArtifactsView.as_view()),
    path(ARTIFACT, artifacts.ArtifactView.as_view()),
    path(f"{ARTIFACT}/content", artifacts.ContentView.as_view()),
    path(f"{ARTIFACT}/remove", artifacts.RemoveView.as_view()),
    path(f"{SESSIONS}/<uuid:id>/runs", runs.SessionRunsView.as_view()),
    path(RUNS, runs.RunsView.as_view()),
    path(f"{RUNS}/<uuid:id>", runs.RunView.as_view()),
    path(f"{RUNS}/<uuid:id>/claim", runs.ClaimView.as_view()),
    path(f"{RUNS}/<uuid:id>/heartbeat", runs.HeartbeatView.as_view()),
    path(f"{RUNS}/<uuid:id>/complete", runs.CompleteView.as_view()),
    path(f"{RUNS}/<uuid:id>/fail", runs.FailView.as_view()),
    path(f"{RUNS}/<uuid:id>/cancel", runs.CancelView.as_view()),
    path(f"{RUNS}/<uuid:id>/state", history.StateView.as_view()),
    path(f"{RUNS}/<uuid:id>/state/diff", history.DiffView.as_view()),
    path(f"{RUNS}/<uuid:id>/transitions", transitions.TransitionsView.as_view()),
    path(WORKFLOWS, workflows.WorkflowsView.as_view()),
    path(f"{WORKFLOWS}/<slug:name>", workflows.WorkflowView.as_view()),
]
