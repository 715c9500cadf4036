from sessions.models.run import Fact, Provenance, Run, Transition
from sessions.models.session import Item, Session
from sessions.models.workflow import Workflow

__all__ = ["Fact", "Item", "Provenance", "Run", "Session", "Transition", "Workflow"]
