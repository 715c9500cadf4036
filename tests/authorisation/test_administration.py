"""Every verb that takes `by`, against one rule: whoever administers, but for the owners'.

What others are answered does not depend on what they ask for: all but `by` is made up
from the verb's own signature. So a new verb is in the table by being there.
"""

import inspect
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import pytest

from approvals.services.delegations import Leave
from approvals.services.stopping import Target
from checkpoints.models import Risk, Tool
from kernel.ids import new_id
from tenants.models import Role, SecretPattern
from tenants.services import deactivate_member
from tests.approvals.stage import Stage, fresh_stage
from tests.authorisation.registry import NOBODYS, of_kind, verbs
from tests.authorisation.rehearsal import MAY, outcome, rehearsing
from tests.factories import fresh_house, fresh_member

ADMINISTRATORS: Final = frozenset({"owner", "admin"})
OWNERS: Final = frozenset({"owner"})
OWNERS_ONLY: Final = frozenset(
    {
        "tenants.services.single_sign_on.allow_passwords",
        "tenants.services.single_sign_on.configure",
        "tenants.services.single_sign_on.end_single_sign_on",
        "tenants.services.single_sign_on.refuse_passwords",
        "tenants.services.tenancy.ask_for_second_admin",
        "tenants.services.tenancy.start_tenant",
        "tenants.services.tenancy.stop_tenant",
    }
)
VERBS: Final = of_kind("by")
# What a verb wants to be told before it looks who asks, by parameter.
TOLD: Final[dict[str, Any]] = {
    "slug": "a-slug",
    "email": "somebody@example.org",
    "definition": {"verdict": "deny"},
    "url": "https://example.org/hook",
    "event_types": ["approval.requested"],
    "mode": Tool.Mode.AGENT,
    "risk": Risk.LOW,
    "days": 1,
    "leave": Leave(
        delegator_id=new_id(),
        delegate_id=new_id(),
        starts_at=datetime.now(UTC),
        ends_at=datetime.now(UTC) + timedelta(days=1),
    ),
    "role": Role.REVIEWER,
    "target": Target(agent_id=new_id()),
}
OF_VERB: Final[dict[str, dict[str, Any]]] = {
    "checkpoints.services.tools.register_tool": {"definition": {}},
    "checkpoints.services.tools.change_tool": {"definition": {}},
    "sessions.services.drafts.save_draft": {"definition": {}},
    "sessions.services.workflows.define_workflow": {"definition": {}},
    "tenants.services.single_sign_on.configure": {"issuer": "https://id.example"},
    "tenants.services.patterns.add_secret_pattern": {
        "prefix": "ours_",
        "alphabet": SecretPattern.Alphabet.values[0],
        "least": 20,
    },
}


@pytest.fixture(scope="module")
def stage() -> Stage:
    stage = fresh_stage()
    assert stage.house.charlie  # not made while verbs are rehearsed: it would be undone
    return stage


@pytest.fixture(scope="module")
def people(stage: Stage) -> Mapping[str, UUID]:
    """One member of each role; and two who are none here, by what they are."""
    alice = stage.house.alice
    found = {role.value: fresh_member(alice, role.value, role=role).id for role in Role}
    gone = fresh_member(alice, "Gone", role=Role.ADMIN)
    deactivate_member(tenant_id=stage.tenant_id, by=alice.id, member_id=gone.id)
    return {**found, "gone": gone.id, "elsewhere": fresh_house().alice.id}


def verb_named(name: str) -> Callable[..., Any]:
    module, _, function = name.rpartition(".")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


def made_up(name: str, stage: Stage) -> dict[str, Any]:
    """Something for each parameter that must be given, but for who and where."""
    verb = verb_named(name)
    known = {"member_id": stage.bob.id, "user_id": stage.house.charlie.user.id}
    told = {**TOLD, **known, **OF_VERB.get(name, {})}
    hints = get_type_hints(verb)
    return {
        name: told[name] if name in told else _value(hints[name])
        for name, one in inspect.signature(verb).parameters.items()
        if one.default is inspect.Parameter.empty and name not in {"tenant_id", "by"}
    }


def asked_by(name: str, stage: Stage, by: UUID) -> str:
    said = made_up(name, stage)
    return outcome(partial(verb_named(name), tenant_id=stage.tenant_id, by=by, **said))


def _value(kind: Any) -> Any:
    if get_origin(kind) in {UnionType, Union}:
        kind = next(one for one in get_args(kind) if one is not NoneType)
    plain = get_origin(kind) or kind
    if plain is UUID:
        return new_id()
    if plain is timedelta:
        return timedelta(hours=1)
    if isinstance(plain, type) and issubclass(plain, str):
        return next(iter(plain)) if hasattr(plain, "__members__") else "name"
    return {bool: True, int: 1}.get(plain, ())


@pytest.mark.parametrize("name", VERBS)
def test_only_those_who_administer_do_it(
    name: str, stage: Stage, people: Mapping[str, UUID]
) -> None:
    with rehearsing():
        said = {who: asked_by(name, stage, by) for who, by in people.items()}
    allowed = OWNERS if name in OWNERS_ONLY else ADMINISTRATORS
    assert {said[who] for who in ("gone", "elsewhere")} == {"not_found"}
    others = {who for who in said if who not in {"gone", "elsewhere", *allowed}}
    assert {who: said[who] for who in others} == dict.fromkeys(others, "not_permitted")
    assert "not_permitted" not in {said[who] for who in allowed}


def test_what_is_made_up_is_good_for_many_of_them(
    stage: Stage, people: Mapping[str, UUID]
) -> None:
    """They are done up to their commit: who is refused, is refused as who they are."""
    with rehearsing():
        said = [asked_by(name, stage, people["owner"]) for name in VERBS]
    assert said.count(MAY) > 15, dict(zip(VERBS, said, strict=True))


def test_every_verb_says_whose_it_is() -> None:
    """Or is listed as nobody's, with the hand that it is in."""
    assert of_kind("") == sorted(NOBODYS)
    assert len(verbs()) > 120
    assert set(VERBS) >= OWNERS_ONLY
