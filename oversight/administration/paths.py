"""Addresses of the administration."""

from django.urls import path

from oversight.administration import (
    agents,
    groups,
    letters,
    people,
    queues,
    retention,
    single_sign_on,
    stopping,
    tool_edit,
    tools,
)

PATHS = [
    path("t/<slug:slug>/agents", agents.agents, name="agents"),
    path("t/<slug:slug>/agents/<uuid:id>", agents.agent, name="agent"),
    path("t/<slug:slug>/agents/<uuid:id>/stop", stopping.agent, name="agent_stop"),
    path("t/<slug:slug>/people", people.people, name="people"),
    path("t/<slug:slug>/people/<uuid:id>", people.person, name="person"),
    path("t/<slug:slug>/letters", letters.letters, name="letters"),
    path(
        "t/<slug:slug>/single-sign-on", single_sign_on.settings, name="single_sign_on"
    ),
    path("t/<slug:slug>/groups", groups.groups, name="groups"),
    path("t/<slug:slug>/groups/<uuid:id>", groups.group, name="group"),
    path("t/<slug:slug>/queues", queues.queues, name="queues"),
    path("t/<slug:slug>/queues/<uuid:id>", queues.queue, name="queue_rights"),
    path("t/<slug:slug>/retention", retention.retention, name="retention"),
    path("t/<slug:slug>/tools", tools.tools, name="tools"),
    path("t/<slug:slug>/tools/<uuid:id>", tools.tool, name="tool"),
    path("t/<slug:slug>/new-tool", tool_edit.create, name="tool_new"),
    path("t/<slug:slug>/tools/<uuid:id>/edit", tool_edit.edit, name="tool_edit"),
    path("t/<slug:slug>/tools/<uuid:id>/stop", stopping.tool, name="tool_stop"),
    path("t/<slug:slug>/stop", stopping.tenant, name="tenant_stop"),
]
