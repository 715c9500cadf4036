"""Whatever is done to a chain without its key is found, at the right entry."""

import json
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.append import recorded
from audit.keys import key_id, signing_key
from audit.models import Entry
from audit.verify import Reason, verify_tenant
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from tests.audit.conftest import ALICE, Chain, Superuser
from tests.kernel.strategies import json_values, texts


def flaw_of(tenant_id: UUID, *, fast: bool = False) -> tuple[int, str]:
    report = verify_tenant(tenant_id, fast=fast)
    assert not report.intact
    assert report.flaw is not None
    assert report.entries == report.flaw.seq - 1 or report.flaw.reason == Reason.HEAD
    return report.flaw.seq, report.flaw.reason.value


@pytest.mark.parametrize("fast", [False, True])
def test_an_untouched_chain_is_intact(
    tenant_id: UUID, append: Chain, fast: bool
) -> None:
    *_, last = append(5)
    report = verify_tenant(tenant_id, fast=fast)
    assert report.intact
    assert (report.entries, report.head_seq, report.head_hash) == (5, 5, last.hash)
    assert report.signatures_checked is not fast
    assert report.entries_per_second > 0


def test_a_tenant_without_entries_is_intact(tenant_id: UUID) -> None:
    report = verify_tenant(tenant_id)
    assert (report.intact, report.entries, report.head_seq) == (True, 0, 0)


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(texts, json_values, max_size=3))
def test_any_strict_json_makes_an_intact_chain(data: dict[str, object]) -> None:
    tenant_id = new_id()
    with recorded(tenant_id) as journal:
        for _ in range(2):
            journal.record(kind="x", actor=ALICE, subject=("x", None), data=data)
    report = verify_tenant(tenant_id)
    assert (report.entries, report.flaw) == (2, None)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    seq=st.integers(1, 4),
    column=st.sampled_from(["body", "prev", "hash", "signature"]),
    place=st.integers(0, 1_000),
    bit=st.integers(0, 7),
)
def test_any_bit_of_any_entry(
    append: Chain,
    tenant_id: UUID,
    superuser: Superuser,
    seq: int,
    column: str,
    place: int,
    bit: int,
) -> None:
    if verify_tenant(tenant_id).entries == 0:
        append(4)
    before = bytes(superuser.column(tenant_id, seq, column))
    after = bytearray(before)
    after[place % len(after)] ^= 1 << bit
    superuser.change(tenant_id, seq, **{column: bytes(after)})
    assert flaw_of(tenant_id)[0] == seq
    superuser.change(tenant_id, seq, **{column: before})
    assert verify_tenant(tenant_id).intact


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("id", UUID(int=7)),
        ("at", "2020-01-01T00:00:00Z"),
        ("kind", "invoice.cancelled"),
        ("actor_type", "agent"),
        ("actor_id", "mallory"),
        ("subject_type", "run"),
        ("subject_id", UUID(int=7)),
        ("subject_id", None),
        ("data", json.dumps({"number": 1, "amount": "99.00", "ratio": 1e-7})),
        ("data", json.dumps({"number": True, "amount": "10.00", "ratio": 1e-7})),
        ("data", json.dumps({"number": 1, "amount": "10.00"})),
    ],
)
def test_a_column_that_says_something_else(
    tenant_id: UUID, append: Chain, superuser: Superuser, column: str, value: object
) -> None:
    append(3)
    superuser.change(tenant_id, 2, **{column: value})
    assert flaw_of(tenant_id) == (2, "copy")
    assert column in str(verify_tenant(tenant_id).flaw)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("seq", [1, 3])
def test_a_missing_entry(
    tenant_id: UUID, append: Chain, superuser: Superuser, seq: int, fast: bool
) -> None:
    append(4)
    superuser.execute(
        "DELETE FROM audit_entry WHERE tenant_id = %s AND seq = %s", tenant_id, seq
    )
    assert flaw_of(tenant_id, fast=fast) == (seq, "gap")


def test_a_missing_entry_whose_gap_was_closed(
    tenant_id: UUID, append: Chain, superuser: Superuser
) -> None:
    append(4)
    superuser.execute(
        "DELETE FROM audit_entry WHERE tenant_id = %s AND seq = 2", tenant_id
    )
    for seq in (3, 4):
        superuser.change(tenant_id, seq, seq=seq - 1)
    assert flaw_of(tenant_id) == (2, "order")
    superuser.rehash(tenant_id)
    assert flaw_of(tenant_id) == (2, "signature")


def test_two_entries_that_changed_places(
    tenant_id: UUID, append: Chain, superuser: Superuser
) -> None:
    append(4)
    for old, new in ((2, 99), (3, 2), (99, 3)):
        superuser.change(tenant_id, old, seq=new)
    assert flaw_of(tenant_id) == (2, "order")
    superuser.rehash(tenant_id)
    assert flaw_of(tenant_id) == (2, "signature")


def test_an_entry_that_stands_twice(
    tenant_id: UUID, append: Chain, superuser: Superuser
) -> None:
    append(3)
    superuser.connection.execute(
        "ALTER TABLE audit_entry DROP CONSTRAINT audit_entry_seq_unique"
    )
    try:
        superuser.execute(
            "INSERT INTO audit_entry SELECT (e).* FROM (SELECT jsonb_populate_record("
            "  e, jsonb_build_object('id', gen_random_uuid())) AS e"
            " FROM audit_entry e WHERE tenant_id = %s AND seq = 2)",
            tenant_id,
        )
        assert flaw_of(tenant_id) == (3, "order")
    finally:
        superuser.execute(
            "DELETE FROM audit_entry WHERE tenant_id = %s AND seq = 2", tenant_id
        )
        superuser.connection.execute(
            "ALTER TABLE audit_entry ADD CONSTRAINT audit_entry_seq_unique"
            " UNIQUE (tenant_id, seq)"
        )


def test_an_actor_rewritten_and_the_chain_hashed_anew(
    tenant_id: UUID, append: Chain, superuser: Superuser
) -> None:
    append(4)
    body = json.loads(superuser.column(tenant_id, 2, "body"))
    body["actor"]["id"] = "bob"
    forged = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    superuser.change(tenant_id, 2, body=forged, actor_id="bob")
    assert flaw_of(tenant_id) == (2, "hash")
    superuser.rehash(tenant_id)
    assert flaw_of(tenant_id) == (2, "signature")
    # Hashes alone cannot tell: this is what the signatures are for.
    assert verify_tenant(tenant_id, fast=True).intact


def test_a_forged_entry_signed_with_another_key(
    tenant_id: UUID, append: Chain, superuser: Superuser
) -> None:
    append(2)
    superuser.change(tenant_id, 2, key_id="0123456789abcdef")
    assert flaw_of(tenant_id) == (2, "key")


def test_a_signature_of_another_chain(
    tenant_id: UUID, append: Chain, superuser: Superuser
) -> None:
    append(2)
    other = new_id()
    with recorded(other) as journal:
        journal.record(kind="x", actor=ALICE, subject=("x", None))
    superuser.execute("DELETE FROM audit_entry WHERE tenant_id = %s", tenant_id)
    superuser.execute("DELETE FROM audit_head WHERE tenant_id = %s", tenant_id)
    for table in ("audit_entry", "audit_head"):
        superuser.execute(
            f"UPDATE {table} SET tenant_id = %s WHERE tenant_id = %s", tenant_id, other
        )
    assert flaw_of(tenant_id) == (1, "hash")
    superuser.rehash(tenant_id)
    assert flaw_of(tenant_id) == (1, "signature")


@pytest.mark.parametrize("fast", [False, True])
def test_a_head_that_does_not_fit(
    tenant_id: UUID, append: Chain, superuser: Superuser, fast: bool
) -> None:
    entries = append(3)
    superuser.set_head(tenant_id, 2, entries[1].hash)
    assert flaw_of(tenant_id, fast=fast) == (3, "head")
    superuser.set_head(tenant_id, 4, entries[2].hash)
    assert flaw_of(tenant_id, fast=fast) == (4, "head")
    superuser.set_head(tenant_id, 3, entries[1].hash)
    assert flaw_of(tenant_id, fast=fast) == (3, "head")
    superuser.execute("DELETE FROM audit_head WHERE tenant_id = %s", tenant_id)
    assert flaw_of(tenant_id, fast=fast) == (3, "head")


def test_a_cut_off_end_is_seen_by_the_head_until_that_is_moved(
    tenant_id: UUID, append: Chain, superuser: Superuser
) -> None:
    append(5)
    superuser.execute(
        "DELETE FROM audit_entry WHERE tenant_id = %s AND seq > 3", tenant_id
    )
    assert flaw_of(tenant_id) == (4, "head")
    superuser.cut(tenant_id, after=3)
    # Only an anchor tells now: tests/audit/test_anchors.py.
    assert verify_tenant(tenant_id).intact


def test_entries_appended_meanwhile_do_not_disturb(
    tenant_id: UUID, append: Chain
) -> None:
    import threading

    append(2_500)  # more than one fetch, so that the walk is still under way
    others = []

    def meanwhile(done: int, total: int) -> None:
        if not others:
            others.append(threading.Thread(target=append, args=[3]))
            others[0].start()
            others[0].join()

    report = verify_tenant(tenant_id, fast=True, progress=meanwhile)
    assert (report.intact, report.entries) == (True, 2_500)
    assert verify_tenant(tenant_id, fast=True).entries == 2_503


def test_an_older_key_is_trusted_while_its_public_half_is_kept(
    tenant_id: UUID, append: Chain, settings, tmp_path
) -> None:
    from cryptography.hazmat.primitives import serialization

    append(2)
    former = signing_key().private.public_key()
    settings.AUDIT_KEY = tmp_path / "audit.pem"
    append(1)
    assert flaw_of(tenant_id) == (1, "key")
    kept = tmp_path / "audit.pem.pub.d" / "former.pem"
    kept.parent.mkdir()
    kept.write_bytes(
        former.public_bytes(
            serialization.Encoding.PEM,
            serialization.PublicFormat.SubjectPublicKeyInfo,
        )
    )
    assert verify_tenant(tenant_id).intact
    with tenant_transaction(tenant_id):
        keys = list(Entry.objects.order_by("seq").values_list("key_id", flat=True))
    assert keys == [key_id(former)] * 2 + [signing_key().id]
