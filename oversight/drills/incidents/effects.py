"""Actions that are not simply done: unknown, late, half done, or no longer wanted."""

from typing import Final

from approvals.models import Request
from approvals.resume.barriers import INTENT
from approvals.services.redeem import redeem
from approvals.services.report import report_effect
from approvals.services.resolve import resolve_effect
from checkpoints.checkpoint import Position
from checkpoints.models import Attempt, Effect
from checkpoints.services.checkpoints import save_checkpoint
from kernel.clock import database_now
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from oversight.drills.house import ARGUMENTS, House
from oversight.drills.incident import incident
from oversight.drills.incidents.workers import SLACK, SWEEP
from oversight.drills.scene import Scene
from oversight.drills.waiting import wait_until
from sessions.models import Run

SOON: Final = SWEEP + SLACK


@incident(
    "unknown-outcome",
    "The tool acts and its answer is lost: unknown, until the tool itself tells",
    harms=True,
)
def unknown_outcome(scene: Scene) -> None:
    house, tool = scene.house(), scene.tool(answer="drop")
    house.tool(tool.definition())
    request = house.approved()
    scene.must_happen(house, request)
    scene.until_done(house, request, within=SOON)
    with tenant_transaction(house.id):
        attempt = Attempt.objects.get()
    scene.equal("the attempt is unknown", attempt.outcome, "unknown")
    scene.equal("it was called once", tool.calls, 1)
    scene.note_run(house, request.run_id)


@incident(
    "delayed-send",
    "A call arrives long after it was given up: no second one was sent meanwhile",
    harms=True,
)
def delayed_send(scene: Scene) -> None:
    house, tool = scene.house(), scene.tool(hold="before")
    house.tool(tool.definition(timeout=1, settle=5))
    request = house.approved()
    scene.must_happen(house, request)
    scene.wait("the call is under way", lambda: tool.held == 1)
    scene.wait("it is given up", lambda: house.effect_state(request) == "unknown")
    scene.wait(
        "the tool is asked, and knows nothing of it",
        lambda: _asked(house, request) > 1 or tool.calls > 1,
    )
    scene.equal("it was called once", tool.calls, 1)
    tool.tell(hold="")
    scene.until_done(house, request, within=60)
    scene.equal("it was never called again", tool.calls, 1)


def _asked(house: House, request: Request) -> int:
    """How often a worker has looked at it since."""
    job = house.job(request)
    return job.attempts if job.code == "effects.settling" else 0


@incident(
    "nobody-can-tell",
    "The answer is lost and the tool cannot be asked: a person records it, with proof",
    harms=True,
)
def nobody_can_tell(scene: Scene) -> None:
    house, tool = scene.house(), scene.tool(answer="drop")
    definition = tool.definition(settle=0)
    del definition["status_url"]
    house.tool(definition)
    house.policy(use_within=3)  # nothing may be sent, or is on its way, after that
    request = house.approved()
    scene.wait(
        "it is put before a person",
        lambda: house.effect_state(request) == "needs_attention",
        seconds=SOON + SLACK,
    )
    run = house.run_of(request)
    scene.equal("so is its run", run.state, Run.State.NEEDS_ATTENTION)
    scene.must_happen(house, request)
    effect = house.effect(request)
    assert effect is not None
    said = {"effect_id": effect.id, "outcome": "confirmed"}
    scene.equal("without proof", _resolve(house, said, " "), "evidence_needed")
    scene.equal("with proof", _resolve(house, said, "Seen in the bank."), "")
    scene.equal("the run goes on", house.run_of(request).state, Run.State.RUNNING)
    scene.equal("it was called once", tool.calls, 1)
    scene.note_run(house, request.run_id)


def _resolve(house: House, said: dict[str, object], evidence: str) -> str:
    try:
        resolve_effect(house.bob.person, **said, evidence=evidence)  # type: ignore[arg-type]
    except Problem as problem:
        return problem.code
    return ""


@incident(
    "deadline-passed",
    "A worker stands still until its deadline has passed: nothing is sent any more",
    harms=True,
)
def deadline_passed(scene: Scene) -> None:
    harm, house, tool = scene.harm, scene.house(), scene.tool()
    house.tool(tool.definition())
    house.policy(use_within=3)
    harm.barriers.arm(INTENT)
    request = house.approved()
    harm.barriers.reached(INTENT)
    with tenant_transaction(house.id):
        deadline = Attempt.objects.get().send_before
    scene.wait("the deadline has passed", lambda: database_now() > deadline)
    harm.barriers.release(INTENT)
    scene.wait(
        "it is known that it did not happen",
        lambda: house.effect_state(request) == "absent",
        seconds=SOON,
    )
    scene.wait("its job is done", lambda: house.job(request).state == "done", SOON)
    scene.equal("nothing was sent", tool.calls, 0)
    scene.note_run(house, request.run_id)


@incident(
    "partial-effects",
    "The second of three steps fails: one done, one failed, one not started; none twice",
)
def partial_effects(scene: Scene) -> None:
    house = scene.house()
    house.agent_tool()
    run = house.run()
    for number, outcome in (("1", "confirmed"), ("2", "failed")):
        _step(house, run, number, outcome)
    scene.equal("step 1 again", _asked_again(house), "tool_call_repeated")
    waiting = house.ask(run, tool_call_id="step-3", arguments=_arguments("3"))
    scene.equal("the timeline", _timeline(house), ["confirmed", "failed"])
    scene.equal("step 3 waits", house.effect_state(waiting), "none")
    scene.note_run(house, run.id)


def _step(house: House, run: Run, number: str, outcome: str) -> None:
    """Asked, approved, carried out by the agent, and reported."""
    asked = {"tool_call_id": f"step-{number}", "arguments": _arguments(number)}
    request = house.approved(run, **asked)
    fence = house.fresh(run).fence
    started = redeem(house.robot, request_id=request.id, fence=fence)
    report_effect(
        house.robot,
        effect_id=started.effect.id,
        attempt=1,
        fence=fence,
        outcome=outcome,
    )
    _wait_until_running(house, run)


def _wait_until_running(house: House, run: Run) -> None:
    """The worker may still have its word to say on what was redeemed."""
    wait_until("the run goes on", lambda: house.fresh(run).state == Run.State.RUNNING)


def _asked_again(house: House) -> str:
    """As an agent that forgot what it has done would ask."""
    with tenant_transaction(house.id):
        run = Run.objects.get()
    try:
        house.ask(run, tool_call_id="step-1", arguments=_arguments("1"))
    except Problem as problem:
        return problem.code
    return "accepted"


def _arguments(number: str) -> dict[str, str]:
    return {**ARGUMENTS, "amount": f"{number}.00"}


def _timeline(house: House) -> list[str]:
    with tenant_transaction(house.id):
        return list(Effect.objects.order_by("id").values_list("state", flat=True))


@incident(
    "stale-checkpoint", "A writer that is behind gets 409, and nothing of it is kept"
)
def stale_checkpoint(scene: Scene) -> None:
    house = scene.house()
    house.agent_tool()
    run = house.run()
    scene.equal("the first is saved", _save(house, run, None), "")
    scene.equal("behind the head", _save(house, run, None), "stale_checkpoint")
    scene.equal("from the head", _save(house, run, 1), "")
    scene.equal("an old fence", _save(house, run, 2, -1), "stale_writer")
    house.ask(run)
    scene.equal("while it is paused", _save(house, run, 3), "pause_open")
    scene.equal("the head is the pause's", house.fresh(run).head_number, 3)
    scene.note_run(house, run.id)


def _save(house: House, run: Run, parent: int | None, behind: int = 0) -> str:
    position = Position(parent=parent, schema_version=1, payload=b"{}", header={})
    try:
        save_checkpoint(
            who=house.robot, run_id=run.id, fence=run.fence + behind, position=position
        )
    except Problem as problem:
        return problem.code
    return ""
