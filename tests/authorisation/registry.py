"""Every verb that there is, found in the source, by who it says is acting.

A verb is a public function that opens a transaction of its own with `perform` or
`change`, itself or by a function of its own module. The name of its first parameters says whose act it is; one that names nobody
has to be listed in `NOBODYS`, with whose hand it is.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
APPS: Final = ("audit", "tenants", "sessions", "checkpoints", "approvals", "oversight")
OPENERS: Final = frozenset({"perform", "change"})
ACTORS: Final = {"person": "person", "by": "by", "who": "agent", "principal": "agent"}
WORKER: Final = "the worker's, by the id of a job or a delivery that a verb wrote"
SWEEP: Final = "a sweep's, for whatever is due"
CONSOLE: Final = "the installation's, from its console or before anybody is there"
INVITED: Final = "whoever holds the link, with the address that it is for"
OWN: Final = "whoever has just signed in, about that"

NOBODYS: Final = {
    "approvals.resume.act.act": WORKER,
    "approvals.resume.delivering.deliver": WORKER,
    "approvals.resume.job.claim": WORKER,
    "approvals.resume.recover.recover": WORKER,
    "approvals.resume.send.send_and_settle": WORKER,
    "approvals.resume.send.settle_job": WORKER,
    "approvals.resume.wake.wake": WORKER,
    "approvals.resume.work.work": WORKER,
    "oversight.services.verifying.carry_out": WORKER,
    "tenants.services.mailing.send_mail": WORKER,
    "approvals.services.erasure.let_go": SWEEP,
    "approvals.services.erasure.purge_leftovers": SWEEP,
    "approvals.services.erasure.purge_step": SWEEP,
    "approvals.services.nudging.nudge": SWEEP,
    "sessions.services.artifacts.expire_artifacts": SWEEP,
    "sessions.services.artifacts.sweep_files": SWEEP,
    "approvals.services.recovery.begin_recovery": CONSOLE,
    "tenants.services.data_keys.destroy_data_key": CONSOLE,
    "tenants.services.data_keys.rewrap_data_key": CONSOLE,
    "tenants.services.second_factors.remove_factors": CONSOLE,
    "tenants.services.tenancy.create_tenant": CONSOLE,
    "tenants.services.tenancy.first_run": CONSOLE,
    "tenants.services.accepting.accept_as_newcomer": INVITED,
    "tenants.services.accepting.accept_invitation": INVITED,
    "tenants.services.entering.connect": OWN,
    "tenants.services.entering.enter": OWN,
    "tenants.services.signing_in.record_own": OWN,
    "tenants.services.signing_in.record_sign_in": OWN,
    "tenants.services.change.change": "no verb: how verbs that change rights are run",
    "oversight.drills.incidents.authority.change_under_way": "no verb: a drill's own",
    "checkpoints.upgrades.json_step": "no verb: its `change` is one of a document",
}


@cache
def verbs() -> dict[str, str]:
    """By full name, whose act it is: person, by, agent, or '' where it names nobody."""
    return dict(found for app in APPS for found in _of_app(app))


def of_kind(kind: str) -> list[str]:
    return sorted(name for name, whose in verbs().items() if whose == kind)


def _of_app(app: str) -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / app).rglob("*.py")):
        text = path.read_text()
        if "migrations" in path.parts or not any(one in text for one in OPENERS):
            continue
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        functions = _functions(text)
        for name in sorted(_opening(functions)):
            if not name.startswith("_"):
                yield f"{module}.{name}", _whose(functions[name])


def _functions(text: str) -> dict[str, ast.FunctionDef]:
    body = ast.parse(text).body
    return {one.name: one for one in body if isinstance(one, ast.FunctionDef)}


def _opening(functions: dict[str, ast.FunctionDef]) -> set[str]:
    """Those that open one, directly or by way of another."""
    calls = {name: _called(node) for name, node in functions.items()}
    found = {name for name, called in calls.items() if called & OPENERS}
    while more := {n for n, called in calls.items() if called & found} - found:
        found |= more
    return found


def _called(node: ast.FunctionDef) -> set[str]:
    return {
        one.func.id
        for one in ast.walk(node)
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)
    }


def _whose(node: ast.FunctionDef) -> str:
    names = [one.arg for one in (*node.args.args, *node.args.kwonlyargs)]
    return next((ACTORS[name] for name in names if name in ACTORS), "")
