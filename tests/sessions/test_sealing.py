"""What is kept for others is sealed where it lies, and comes back as it came."""

import pytest

from checkpoints.checkpoint import Position
from checkpoints.models import Checkpoint
from checkpoints.services import read_checkpoint, save_checkpoint
from kernel.scope import tenant_transaction
from kernel.sealing import seal
from sessions.models import Item, Run, Session
from sessions.queries import latest_items
from sessions.services import append_items
from sessions.vault import open_items, session_key
from tenants.principal import Principal
from tenants.services.data_keys import destroy_data_key
from tests.checkpoints.tampering import tamper
from tests.refusals import refused

TEXT = '{"b": 1.0,  "a": "ключ \\ud800"}'


def texts(who: Principal, session: Session) -> list[str]:
    with tenant_transaction(who.tenant_id):
        return [item.raw for item in latest_items(session, 10)]


def add(who: Principal, session: Session, *items: str) -> None:
    append_items(who=who, session_id=session.id, items=items)


def stored(who: Principal, session: Session) -> list[Item]:
    with tenant_transaction(who.tenant_id):
        return list(Item.objects.filter(session=session).order_by("position"))


def save(who: Principal, run: Run, payload: bytes) -> Checkpoint:
    position = Position(parent=None, schema_version=1, payload=payload, header={})
    return save_checkpoint(who=who, run_id=run.id, fence=1, position=position)


def test_an_item_is_sealed_and_comes_back_exactly(
    who: Principal, session: Session
) -> None:
    add(who, session, TEXT, TEXT)
    first, second = stored(who, session)
    assert first.legacy == ""
    assert TEXT.encode() not in bytes(first.sealed or b"")
    assert first.sealed != second.sealed
    assert texts(who, session) == [TEXT, TEXT]


def test_a_sealed_item_is_not_taken_for_an_empty_one(
    who: Principal, session: Session
) -> None:
    add(who, session, TEXT)
    with pytest.raises(RuntimeError, match="vault"):
        assert stored(who, session)[0].raw


def test_an_item_from_before_is_read_as_it_is(who: Principal, session: Session) -> None:
    add(who, session, "1", "2")
    first = stored(who, session)[0]
    tamper("agent_sessions_item", "raw = '{\"a\":1}', sealed = null", first.id)
    assert texts(who, session) == ['{"a":1}', "2"]


def test_an_item_changed_or_moved_in_the_database_is_found(
    who: Principal, session: Session
) -> None:
    add(who, session, '"pay 10"', '"pay 99"')
    first, second = stored(who, session)
    moved = f"sealed = decode('{bytes(second.sealed or b'').hex()}', 'hex')"
    tamper("agent_sessions_item", moved, first.id)
    with refused("item_unreadable", status=409):
        texts(who, session)


@pytest.mark.parametrize("where", ["position = 7", "branch = 3, position = 1"])
def test_an_item_said_elsewhere_is_found(
    where: str, who: Principal, session: Session
) -> None:
    add(who, session, '"pay 10"')
    tamper("agent_sessions_item", where, stored(who, session)[0].id)
    moved = stored(who, session)
    with tenant_transaction(who.tenant_id), refused("item_unreadable", status=409):
        open_items(moved, session_id=session.id)


def test_an_item_sealed_before_its_place_was_bound_is_read(
    who: Principal, session: Session
) -> None:
    add(who, session, "1", "2")
    item = stored(who, session)[0]
    bound = b"keyturn/item/v1\0" + item.tenant_id.bytes + item.id.bytes
    with tenant_transaction(who.tenant_id):
        key = session_key(who.tenant_id, session.id)
    old = seal(key, b"1", bound=bound).hex()
    tamper("agent_sessions_item", f"sealed = decode('{old}', 'hex')", item.id)
    assert texts(who, session) == ["1", "2"]


def test_a_payload_is_sealed(who: Principal, run: Run) -> None:
    saved = save(who, run, b"opaque")
    with tenant_transaction(who.tenant_id):
        kept = Checkpoint.objects.get(id=saved.id)
    assert kept.is_sealed
    assert b"opaque" not in bytes(kept.stored)
    with pytest.raises(RuntimeError, match="vault"):
        assert kept.payload
    assert read_checkpoint(who=who, run_id=run.id).payload == b"opaque"


def test_a_payload_from_before_is_read_as_it_is(who: Principal, run: Run) -> None:
    saved = save(who, run, b"opaque")
    tamper("checkpoints_checkpoint", "payload = 'opaque', is_sealed = false", saved.id)
    assert read_checkpoint(who=who, run_id=run.id).payload == b"opaque"


def test_without_the_salt_of_the_session_nothing_opens(
    who: Principal, session: Session, run: Run
) -> None:
    add(who, session, TEXT)
    save(who, run, b"opaque")
    tamper("agent_sessions_session", "salt = ''", session.id)
    with refused("data_erased", status=410):
        texts(who, session)
    with refused("data_erased", status=410):
        read_checkpoint(who=who, run_id=run.id)


def test_without_the_key_of_the_tenant_nothing_opens_or_is_added(
    who: Principal, session: Session
) -> None:
    add(who, session, TEXT)
    destroy_data_key(who.tenant_id)
    with refused("data_erased", status=410):
        texts(who, session)
    with refused("data_erased", status=410):
        add(who, session, TEXT)
