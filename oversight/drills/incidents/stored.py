"""What was stored is altered past every door: found, reported, and nothing happens."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any, Final

from approvals.models import Request, Revision, VerificationReport
from checkpoints.checkpoint import Position, seal
from checkpoints.models import Checkpoint
from checkpoints.services.checkpoints import save_checkpoint
from checkpoints.services.restores import read_checkpoint
from kernel.canonical import canonical_bytes
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from oversight.drills.house import House
from oversight.drills.incident import incident
from oversight.drills.incidents.authority import (
    approved,
    approved_in,
    check_refused,
    redeemed,
)
from oversight.drills.incidents.workers import SLACK, SWEEP
from oversight.drills.scene import Scene
from sessions.models import Run
from sessions.services.runs import start_run
from sessions.services.sessions import open_session
from sessions.services.workflows import define_workflow

# Each is one statement on the checkpoint from which a question was asked.
EDITS: Final = {
    "payload changed": "UPDATE checkpoints_checkpoint SET payload = 'forged' {which}",
    "payload cut off": "UPDATE checkpoints_checkpoint SET payload = '' {which}",
    "a step claimed": """UPDATE checkpoints_checkpoint
      SET header = '{{"completed": ["check-the-payee"]}}' {which}""",
    "a marker forged": """UPDATE checkpoints_checkpoint
      SET header = '{{"markers": {{"verified": true}}}}' {which}""",
    "another schema": "UPDATE checkpoints_checkpoint SET schema_version = 2 {which}",
    "a request closed": """UPDATE checkpoints_checkpoint
      SET closes = ARRAY[gen_random_uuid()] {which}""",
    "another digest": """UPDATE checkpoints_checkpoint
      SET digest = sha256(digest) {which}""",
    "another head": """UPDATE sessions_run SET head_digest = sha256(head_digest)
      WHERE id = %(run)s""",
    "no such head": "UPDATE sessions_run SET head_number = 7 WHERE id = %(run)s",
}
WHICH: Final = "WHERE run_id = %(run)s AND number = 1"
FOUND: Final = {"position.checkpoint_corrupted", "position.head_moved"}


@incident(
    "corrupted-checkpoint",
    "A checkpoint is edited in nine ways: each run is put aside, and the others go on",
    harms=True,
)
def corrupted_checkpoint(scene: Scene) -> None:
    house, tool = scene.house(), scene.tool()
    house.tool(tool.definition())
    edited = {name: house.ask() for name in EDITS}
    for name, request in edited.items():
        statement = EDITS[name].format(which=WHICH)
        scene.harm.execute(_named(statement), {"run": request.run_id})
    untouched = house.ask()
    for request in (*edited.values(), untouched):
        house.approve(request)
    scene.must_happen(house, untouched)
    scene.until_done(house, untouched, within=SWEEP + SLACK)
    for name, request in edited.items():
        _check_put_aside(scene, house, name, request)
    scene.equal("only the untouched one happened", tool.calls, 1)


def _named(statement: str) -> str:
    """The tables' names are those that the models have."""
    run = Run._meta.db_table
    return statement.replace("sessions_run ", f"{run} ")


def _check_put_aside(scene: Scene, house: House, name: str, request: Request) -> None:
    scene.wait(f"{name}: it is refused", lambda: _first_refusal(house, request))
    code = _first_refusal(house, request)
    scene.check(f"{name}: it is found", code in FOUND, code)
    with tenant_transaction(house.id):
        run = Run.objects.get(id=request.run_id)
    scene.equal(f"{name}: the run", run.state, Run.State.NEEDS_ATTENTION)
    scene.note(name, code)


def _first_refusal(house: House, request: Request) -> str:
    """What the worker answered when it came to act; empty if it has not yet."""
    with tenant_transaction(house.id):
        refused = VerificationReport.objects.filter(request=request, passed=False)
        first = refused.order_by("created_at").first()
        return first.code if first else ""


@incident(
    "schema-from-future",
    "A checkpoint has a newer schema, another is cut off: refused, each in its own words",
    harms=True,
)
def schema_from_future(scene: Scene) -> None:
    house = scene.house()
    define_workflow(
        tenant_id=house.id,
        by=house.by,
        kind="drill",
        definition={"schema_versions": [1]},
    )
    said = {}
    for name, edit in {"newer": _make_newer, "cut off": _cut_off}.items():
        run, checkpoint = _saved(house)
        edit(scene, checkpoint)
        said[name] = _read(house, run)
        stored = house.fresh(checkpoint)
        kept = b"" if name == "cut off" else bytes(checkpoint.stored)
        left = bytes(stored.stored) == kept
        scene.check(f"{name}: the stored bytes are left as they are", left)
        scene.equal(f"{name}: the run", house.fresh(run).state, "needs_attention")
        scene.note(name, said[name])
    codes = [code for code, _ in said.values()]
    scene.equal("the codes", codes, ["schema_unsupported", "checkpoint_corrupted"])
    scene.check("what is said differs", len({text for _, text in said.values()}) == 2)


def _saved(house: House) -> tuple[Run, Checkpoint]:
    session = open_session(who=house.robot, subject="a drill")
    run, _ = start_run(who=house.robot, session_id=session.id, workflow="drill")
    position = Position(parent=None, schema_version=1, payload=b"precious", header={})
    checkpoint = save_checkpoint(
        who=house.robot, run_id=run.id, fence=run.fence, position=position
    )
    return run, checkpoint


def _make_newer(scene: Scene, checkpoint: Checkpoint) -> None:
    """As a newer release would have saved it: everything agrees, the digest too."""
    checkpoint.schema_version = 2
    payload = hashlib.sha256(checkpoint.payload).digest()
    digest = seal(checkpoint, payload)
    scene.harm.execute(
        "UPDATE checkpoints_checkpoint SET schema_version = 2, digest = %s"
        " WHERE id = %s",
        [digest, checkpoint.id],
    )
    scene.harm.execute(
        f"UPDATE {Run._meta.db_table} SET head_digest = %s WHERE id = %s",  # noqa: S608
        [digest, checkpoint.run_id],
    )


def _cut_off(scene: Scene, checkpoint: Checkpoint) -> None:
    scene.harm.execute(
        "UPDATE checkpoints_checkpoint SET payload = '' WHERE id = %s", [checkpoint.id]
    )


def _read(house: House, run: Run) -> tuple[str, str]:
    try:
        read_checkpoint(who=house.robot, run_id=run.id)
    except Problem as problem:
        return problem.code, problem.title
    return "", ""


@incident(
    "exact-action",
    "Each field of what was approved is altered in turn: nothing else is carried out",
    harms=True,
)
def exact_action(scene: Scene) -> None:
    house, request = approved(scene)
    fields = [name for name, _ in _altered(house, request)]
    for field in fields:
        request = approved_in(scene, house)
        _alter(scene, house, request, field)
        code = redeemed(house, request)
        refused = code in {DIGEST_MISMATCH, "not_approved"}
        scene.check(f"{field}: it is refused", refused, code)
        check_refused(scene, house, request, DIGEST_MISMATCH, "stop")
    scene.note("fields altered", ", ".join(fields))


DIGEST_MISMATCH: Final = "authority.digest_mismatch"


def _alter(scene: Scene, house: House, request: Request, field: str) -> None:
    content = dict(_altered(house, request))[field]
    scene.harm.execute(
        "UPDATE approvals_revision SET envelope = %s WHERE request_id = %s",
        [content, request.id],
    )


def _altered(house: House, request: Request) -> Iterator[tuple[str, bytes]]:
    """By field, the envelope with another value in that field alone."""
    with tenant_transaction(house.id):
        revision = Revision.objects.get(request=request)
    envelope: dict[str, Any] = json.loads(bytes(revision.envelope))
    for field, value in sorted(envelope.items()):
        yield field, canonical_bytes({**envelope, field: _other(value)})


def _other(value: Any) -> Any:
    match value:
        case dict():
            return {**value, "forged": True}
        case list():
            return [*value, "forged"]
        case int():
            return value + 1
        case _:
            return f"{value} forged"


@incident(
    "decision-forged",
    "A decision is rewritten in the database: it is not the one in the audit log",
    harms=True,
)
def decision_forged(scene: Scene) -> None:
    house, request = approved(scene)
    scene.harm.execute(
        "UPDATE approvals_decision SET member_id = %s WHERE request_id = %s",
        [house.carol.member.id, request.id],
    )
    code = "authority.decision_not_in_audit"
    found = redeemed(house, request)
    scene.check("it is refused", found in {code, "not_approved"}, found)
    check_refused(scene, house, request, code, "stop")
