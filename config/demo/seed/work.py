"""Letting the agents of the cast do what their scenes say, up to the question."""

import json

from approvals.models import Request
from approvals.services.pause import pause_run
from checkpoints.checkpoint import Position
from config.demo.seed.company import Founded
from config.demo.seed.scene import Scene
from sessions.services import (
    append_items,
    open_session,
    record_transition,
    start_run,
)


def play(founded: Founded, scene: Scene) -> Request:
    """Open the session, do the work, stop at a checkpoint and ask."""
    who = founded.agents[scene.agent]
    session = open_session(who=who, subject=scene.subject, title=scene.title)
    run, _ = start_run(who=who, session_id=session.id)
    append_items(
        who=who,
        session_id=session.id,
        items=scene.items,
        run_id=run.id,
        fence=run.fence,
    )
    if scene.facts:
        record_transition(
            who=who,
            run_id=run.id,
            fence=run.fence,
            expected_version=0,
            facts=scene.facts,
            reason="Looked up.",
        )
    asked = pause_run(
        who, run_id=run.id, fence=run.fence, position=_position(scene), asks=[scene.ask]
    )
    return asked[0]


def _position(scene: Scene) -> Position:
    """Where such an agent would go on: it keeps its plan in the payload."""
    plan = {"goal": scene.instruction, "next": scene.ask.tool}
    return Position(
        parent=None,
        schema_version=1,
        payload=json.dumps(plan, ensure_ascii=False).encode(),
        header={
            "completed": ["read", *(call.split()[0] for call in scene.looked_up)],
            "pending": [scene.ask.tool],
        },
    )
