from sessions.models.run import Fact, Provenance, Run, Transition
from sessions.models.session import Branch, Item, Removal, Session
from sessions.models.workflow import Workflow

__all__ = [
    "Branch",
    "Fact",
    "Item",
    "Provenance",
    "Removal",
    "Run",
    "Session",
    "Transition",
    "Workflow",
]
