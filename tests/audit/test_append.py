"""Appending: last, together, in order, and through no other door."""

import threading
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import IntegrityError, ProgrammingError, connection, connections
from django.test.utils import CaptureQueriesContext

from audit.append import Actor, Journal, recorded
from audit.chain import link, moment, preimage
from audit.keys import signing_key
from audit.models import Entry, Head
from audit.verify import verify_tenant
from kernel.canonical import canonical_bytes
from kernel.clock import database_now
from kernel.ids import new_id
from kernel.problems import Problem
from kernel.scope import NestedScope, tenant_transaction
from tests.audit.conftest import ALICE, Chain


def entries(tenant_id: UUID) -> list[Entry]:
    with tenant_transaction(tenant_id):
        return list(Entry.objects.order_by("seq"))


def test_an_entry_says_what_happened(tenant_id: UUID) -> None:
    subject = new_id()
    with recorded(tenant_id) as journal:
        entry_id = journal.record(
            kind="request.decided",
            actor=ALICE,
            subject=("request", subject),
            data={"decision": "approve", "at": [1, True, None, "é\u202e"]},
        )
    (appended,) = journal.entries
    (entry,) = entries(tenant_id)
    assert (appended.id, appended.seq) == (entry_id, 1)
    assert (entry.id, entry.seq, entry.kind) == (entry_id, 1, "request.decided")
    assert (entry.actor_type, entry.actor_id) == ("member", "alice")
    assert (entry.subject_type, entry.subject_id) == ("request", subject)
    assert entry.data == {"decision": "approve", "at": [1, True, None, "é\u202e"]}
    assert bytes(entry.body) == canonical_bytes(
        {
            "v": 1,
            "id": str(entry_id),
            "tenant": str(tenant_id),
            "seq": 1,
            "at": moment(entry.at),
            "kind": "request.decided",
            "actor": {"type": "member", "id": "alice"},
            "subject": {"type": "request", "id": str(subject)},
            "data": entry.data,
        }
    )


def test_each_entry_follows_the_one_before(tenant_id: UUID, append: Chain) -> None:
    first, second = append(2)
    (third,) = append(1)
    assert [first.seq, second.seq, third.seq] == [1, 2, 3]
    rows = entries(tenant_id)
    assert [bytes(row.prev) for row in rows] == [bytes(32), first.hash, second.hash]
    with tenant_transaction(tenant_id):
        head = Head.objects.get()
    assert (head.seq, bytes(head.hash)) == (3, third.hash)


def test_the_signature_covers_place_and_content(tenant_id: UUID, append: Chain) -> None:
    append(2)
    for row in entries(tenant_id):
        statement = preimage(
            tenant_id=tenant_id, seq=row.seq, prev=row.prev, body=row.body
        )
        assert bytes(row.hash) == link(statement)
        assert row.key_id == signing_key().id
        signing_key().private.public_key().verify(bytes(row.signature), statement)


def test_a_transaction_that_fails_leaves_no_entry(tenant_id: UUID) -> None:
    def verb() -> None:
        with recorded(tenant_id) as journal:
            journal.record(kind="x", actor=ALICE, subject=("x", None))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        verb()
    assert entries(tenant_id) == []


def test_a_verb_without_entries_takes_no_head(tenant_id: UUID) -> None:
    with recorded(tenant_id) as journal:
        pass
    assert journal.entries == ()
    with tenant_transaction(tenant_id):
        assert not Head.objects.exists()


def test_any_number_of_entries_costs_two_statements(tenant_id: UUID) -> None:
    with tenant_transaction(tenant_id):
        journal = Journal(tenant_id)
        for _ in range(20):
            journal.record(kind="x", actor=ALICE, subject=("x", None))
        with CaptureQueriesContext(connection) as queries:
            journal.flush()
    assert len(queries) == 2
    assert len(entries(tenant_id)) == 20


def test_data_is_copied_when_it_is_recorded(tenant_id: UUID) -> None:
    data = {"seen": ["a"]}
    with recorded(tenant_id) as journal:
        journal.record(kind="x", actor=ALICE, subject=("x", None), data=data)
        data["seen"].append("b")
    assert entries(tenant_id)[0].data == {"seen": ["a"]}


@pytest.mark.parametrize(
    "value", [float("nan"), 2**53, "\0", "\ud800", b"bytes", {1: 2}]
)
def test_only_strict_json_is_recorded(value: object) -> None:
    journal = Journal(new_id())
    with pytest.raises(Problem, match=r"^json\.") as caught:
        journal.record(kind="x", actor=ALICE, subject=("x", None), data={"a": value})
    assert caught.value.pointer == "/a"


def test_nothing_is_recorded_after_the_flush(tenant_id: UUID) -> None:
    with recorded(tenant_id) as journal:
        journal.record(kind="x", actor=ALICE, subject=("x", None))
    with pytest.raises(RuntimeError, match="appended"):
        journal.record(kind="x", actor=ALICE, subject=("x", None))


def test_verbs_are_not_nested(tenant_id: UUID) -> None:
    with recorded(tenant_id), pytest.raises(NestedScope), recorded(tenant_id):
        pass


def test_threads_share_one_chain_without_gaps(tenant_id: UUID) -> None:
    def work() -> None:
        for _ in range(10):
            with recorded(tenant_id) as journal:
                journal.record(kind="x", actor=ALICE, subject=("x", None))
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report = verify_tenant(tenant_id)
    assert (report.entries, report.flaw) == (80, None)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO audit_entry SELECT * FROM audit_entry",
        "UPDATE audit_entry SET kind = 'y'",
        "DELETE FROM audit_entry",
        "TRUNCATE audit_entry",
        "INSERT INTO audit_head SELECT * FROM audit_head",
        "UPDATE audit_head SET seq = 0",
        "DELETE FROM audit_head",
        "TRUNCATE audit_head",
        "SELECT audit_tenants()",
        "ALTER TABLE audit_entry DISABLE TRIGGER only_grows",
    ],
)
def test_the_app_role_can_only_read_and_append(
    tenant_id: UUID, append: Chain, statement: str
) -> None:
    append(1)
    with (
        pytest.raises(ProgrammingError, match=r"permission denied|must be owner"),
        tenant_transaction(tenant_id),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


def test_the_relay_learns_ids_and_reads_no_entry(
    tenant_id: UUID, append: Chain
) -> None:
    append(1)
    with connections["relay"].cursor() as cursor:
        cursor.execute("SELECT audit_tenants()")
        assert (tenant_id,) in cursor.fetchall()
        for table in ("audit_entry", "audit_head"):
            with pytest.raises(ProgrammingError, match="permission denied"):
                cursor.execute(f"SELECT * FROM {table}")


def test_the_triggers_hold_even_the_superuser(
    tenant_id: UUID, append: Chain, superuser
) -> None:
    append(2)
    for statement in (
        "UPDATE audit_entry SET kind = 'y' WHERE tenant_id = %s",
        "DELETE FROM audit_entry WHERE tenant_id = %s",
        "UPDATE audit_head SET seq = 1 WHERE tenant_id = %s",
        "UPDATE audit_head SET hash = hash WHERE tenant_id = %s",
        "DELETE FROM audit_head WHERE tenant_id = %s",
    ):
        with pytest.raises(Exception, match=r"only grows|only moves forwards"):
            superuser.connection.execute(statement, (tenant_id,))
    assert verify_tenant(tenant_id).intact


def test_another_tenant_sees_and_appends_nothing(
    tenant_id: UUID, append: Chain
) -> None:
    append(1)
    with tenant_transaction(new_id()), connection.cursor() as cursor:
        assert not Entry.objects.filter(tenant_id=tenant_id).exists()
        assert not Head.objects.filter(tenant_id=tenant_id).exists()
        with pytest.raises(ProgrammingError, match="row-level security"):
            cursor.execute("SELECT audit_head(%s)", [tenant_id])


class TestTheLedgersArithmetic:
    """What audit_append refuses, whatever the application sends."""

    def send(self, tenant_id: UUID, **changes: object) -> None:
        """Append one entry that is right but for `changes` of its body or call."""
        with tenant_transaction(tenant_id), connection.cursor() as cursor:
            cursor.execute("SELECT seq, hash, at FROM audit_head(%s)", [tenant_id])
            last, prev, at = cursor.fetchone()
            call = {"seq": last + 1, "prev": bytes(prev), "signature": bytes(64)}
            body = {
                "id": str(new_id()),
                "tenant": str(tenant_id),
                "seq": last + 1,
                "at": moment(at),
                "kind": "x",
                "actor": {"type": "member", "id": "alice"},
                "subject": {"type": "x", "id": None},
                "data": {},
            }
            body |= {name: value for name, value in changes.items() if name in body}
            call |= {name: value for name, value in changes.items() if name in call}
            raw = canonical_bytes(body)
            statement = preimage(
                tenant_id=tenant_id, seq=call["seq"], prev=call["prev"], body=raw
            )
            cursor.execute(
                "SELECT audit_append(%s, %s, %s, %s, %s)",
                [tenant_id, [raw], [link(statement)], [call["signature"]], "key"],
            )

    def test_it_takes_what_continues_the_chain(self, tenant_id: UUID) -> None:
        self.send(tenant_id)
        self.send(tenant_id)
        assert [entry.seq for entry in entries(tenant_id)] == [1, 2]

    @pytest.mark.parametrize(
        "changes",
        [
            {"seq": 1},
            {"seq": 3},
            {"prev": b"\1" * 32},
            {"tenant": str(UUID(int=0))},
            {"tenant": None},
            {"at": None},
            {"kind": None},
            {"signature": b"short"},
        ],
    )
    def test_it_refuses_anything_else(
        self, tenant_id: UUID, append: Chain, changes: dict[str, object]
    ) -> None:
        append(1)
        with pytest.raises(IntegrityError):
            self.send(tenant_id, **changes)
        assert verify_tenant(tenant_id).entries == 1

    @pytest.mark.parametrize("minutes", [-2, 2])
    def test_it_refuses_another_time(self, tenant_id: UUID, minutes: int) -> None:
        at = moment(database_now() + timedelta(minutes=minutes))
        with pytest.raises(IntegrityError, match="does not continue"):
            self.send(tenant_id, at=at)


def test_ids_of_actors_may_be_uuids(tenant_id: UUID) -> None:
    member = new_id()
    with recorded(tenant_id) as journal:
        journal.record(kind="x", actor=Actor("member", member), subject=("x", None))
    assert entries(tenant_id)[0].actor_id == str(member)


def test_definer_functions_are_pinned_and_triggers_always_fire(superuser) -> None:
    functions = superuser.connection.execute(
        "SELECT proname, prosecdef, proconfig, proowner::regrole::text FROM pg_proc"
        " WHERE proname IN ('audit_head', 'audit_append', 'audit_tenants')"
    ).fetchall()
    assert len(functions) == 3
    for _, definer, config, owner in functions:
        assert definer
        assert config == ["search_path=pg_catalog, pg_temp"]
        assert owner == "keyturn_ledger"
    enabled = superuser.connection.execute(
        "SELECT tgenabled FROM pg_trigger WHERE NOT tgisinternal"
        " AND tgrelid IN ('audit_entry'::regclass, 'audit_head'::regclass)"
    ).fetchall()
    assert enabled == [("A",)] * 5
