from sessions.models.artifact import Artifact
from sessions.models.retention import Hold, Retention
from sessions.models.run import Fact, Provenance, Run, Transition
from sessions.models.session import Branch, Item, Removal, Session
from sessions.models.workflow import Workflow, WorkflowDraft

__all__ = [
    "Artifact",
    "Branch",
    "Fact",
    "Hold",
    "Item",
    "Provenance",
    "Removal",
    "Retention",
    "Run",
    "Session",
    "Transition",
    "Workflow",
    "WorkflowDraft",
]
