"""Files of sessions: sealed, bounded, looked at, and gone when they should be."""

from functools import partial
from hashlib import sha256

import pytest

from approvals.resume.purging import purge_tenant
from approvals.services.erasure import erase_session
from audit.models import Entry
from kernel.scope import tenant_transaction
from sessions.media import file_name
from sessions.models import Session
from sessions.services import artifacts as verbs
from sessions.services import remove_artifact
from tenants.principal import Principal
from tests.chain import kinds_of
from tests.checkpoints.tampering import tamper
from tests.concurrency import together
from tests.factories import unique
from tests.refusals import refused
from tests.sessions.artifact_stage import (
    BY,
    PDF,
    TYPES,
    content,
    files,
    folder,
    listed,
    put,
    rows,
)

# -- Putting ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TYPES)
def test_each_type_comes_back_as_it_was_put(
    kind: str, who: Principal, session: Session
) -> None:
    artifact = put(who, session, TYPES[kind], media_type=kind).artifact
    assert content(who, session, artifact.digest) == TYPES[kind]
    assert (artifact.size, artifact.media_type) == (len(TYPES[kind]), kind)
    assert kinds_of(who.tenant_id, artifact.id) == ["artifact.put"]


def test_nobody_finds_by_trying_guesses_which_file_the_log_is_of(
    who: Principal, session: Session
) -> None:
    artifact = put(who, session).artifact
    with tenant_transaction(who.tenant_id):
        said = Entry.objects.get(subject_id=artifact.id).data["sha256"]
    by_its_id = sha256(artifact.id.bytes + bytes(artifact.sha256)).hexdigest()
    assert said not in {artifact.digest, by_its_id}


@pytest.mark.parametrize("said", TYPES)
@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"MZ\x90\x00",
        b"\x00" * 20,
        b"PK\x03\x04",
        b"\xff\xfe<\x00",
        b" %PDF-1.7\x01",
    ],
)
def test_what_is_not_of_its_type_is_not_taken(
    said: str, sent: bytes, who: Principal, session: Session
) -> None:
    with refused("artifact_type_mismatch", status=422):
        put(who, session, sent, media_type=said)
    assert files(session) == []


def test_a_page_is_no_json_and_no_picture(who: Principal, session: Session) -> None:
    page = b"<!doctype html><script>alert(1)</script>"
    for kind in ("application/json", "application/pdf", "image/png"):
        with refused("artifact_type_mismatch", status=422):
            put(who, session, page, media_type=kind)


def test_the_same_content_is_the_same_artifact(
    who: Principal, session: Session
) -> None:
    first = put(who, session, name="a.pdf", expires_in=3_600)
    again = put(who, session, name="b.pdf", expires_in=60)
    longer = put(who, session, expires_in=7_200)
    assert (first.fresh, again.fresh, longer.fresh) == (True, False, False)
    assert first.artifact.id == again.artifact.id == longer.artifact.id
    assert again.artifact.name == "a.pdf"
    assert again.artifact.expires_at == first.artifact.expires_at
    assert longer.artifact.expires_at > first.artifact.expires_at
    assert len(files(session)) == 1
    kinds = ["artifact.put", "artifact.kept_longer"]
    assert kinds_of(who.tenant_id, first.artifact.id) == kinds


def test_nothing_of_it_is_readable_where_it_lies(
    who: Principal, session: Session
) -> None:
    word = f"sealed{unique()}"
    digest = put(who, session, f"%PDF-{word}".encode()).artifact.digest
    (file,) = files(session)
    assert word.encode() not in file.read_bytes()
    assert digest not in str(file)
    assert file.stat().st_mode & 0o077 == 0
    assert folder(session).stat().st_mode & 0o077 == 0


def test_a_session_has_room_for_so_many(
    who: Principal, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verbs, "MOST_ARTIFACTS", 2)
    first = put(who, session, b"%PDF-1")
    put(who, session, b"%PDF-2")
    with refused("too_many_artifacts", status=409):
        put(who, session, b"%PDF-3")
    assert len(files(session)) == 2
    take = {"who": who, "session_id": session.id, "digest": first.artifact.digest}
    remove_artifact(**take)
    assert put(who, session, b"%PDF-3").fresh


def test_of_many_who_put_the_same_at_once_one_is_first(
    who: Principal, session: Session
) -> None:
    done = together(*[partial(put, who, session)] * 6)
    assert sorted(one.fresh for one in done) == [False] * 5 + [True]
    assert (
        len({one.artifact.id for one in done}) == len(files(session)) == rows(who) == 1
    )


def test_what_is_put_while_its_session_is_erased_is_gone(
    who: Principal, session: Session
) -> None:
    erase = partial(
        erase_session, tenant_id=who.tenant_id, by=BY, session_id=session.id
    )
    puts = [partial(put, who, session, b"%%PDF-%d" % n) for n in range(5)]
    together(*puts, erase)
    purge_tenant(who.tenant_id, steps=20)
    assert (files(session), rows(who)) == ([], 0)


# -- Whose it is ------------------------------------------------------------------------


def test_who_knows_the_digest_knows_nothing(
    who: Principal, session: Session, strangers: dict[str, Principal]
) -> None:
    digest = put(who, session).artifact.digest
    for other in strangers.values():
        with refused("not_found", status=404):
            put(other, session)
        take = {"who": other, "session_id": session.id, "digest": digest}
        with refused("not_found", status=404):
            remove_artifact(**take)
    assert content(who, session, digest) == PDF


def test_what_belongs_to_another_session_is_not_there(
    who: Principal, session: Session
) -> None:
    from sessions.services import open_session

    digest = put(who, session).artifact.digest
    other = open_session(who=who, subject="customer-8")
    with refused("not_found", status=404):
        content(who, other, digest)
    assert put(who, other).fresh
    assert files(other)[0].read_bytes() != files(session)[0].read_bytes()


# -- Changed behind our back ------------------------------------------------------------


def test_a_changed_a_swapped_and_a_missing_file_are_found(
    who: Principal, session: Session
) -> None:
    one, two = (put(who, session, text).artifact for text in (b"%PDF-1", b"%PDF-2"))
    first, second = (folder(session) / str(artifact.id) for artifact in (one, two))
    sealed = first.read_bytes()
    for changed in (second.read_bytes(), sealed[:-1], sealed + b"x", b""):
        first.write_bytes(changed)
        with refused("artifact_unreadable", status=409):
            content(who, session, one.digest)
    first.write_bytes(sealed)
    assert content(who, session, one.digest) == b"%PDF-1"
    first.unlink()
    with refused("artifact_unreadable", status=409):
        content(who, session, one.digest)


@pytest.mark.parametrize(
    "change", ["media_type = 'text/plain'", "sha256 = decode(repeat('ab', 32), 'hex')"]
)
def test_a_changed_row_is_found(change: str, who: Principal, session: Session) -> None:
    artifact = put(who, session).artifact
    tamper("agent_sessions_artifact", change, artifact.id)
    (digest,) = listed(who, session)
    with refused("artifact_unreadable", status=409):
        content(who, session, digest)


# -- Names ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("invoice.pdf", "invoice.pdf"),
        ("invoice.PDF", "invoice.PDF"),
        ("invoice", "invoice.pdf"),
        ("invoice.exe", "invoice.exe.pdf"),
        ("../../etc/passwd", "_.._etc_passwd.pdf"),
        ("a\r\nSet-Cookie: b", "aSet-Cookie_ b.pdf"),
        ("fdp\u202eexe.pdf", "fdpexe.pdf"),
        ("", "0123.pdf"),
        (" . ", "0123.pdf"),
    ],
)
def test_a_download_has_a_safe_name(name: str, kept: str) -> None:
    made = file_name(name, media_type="application/pdf", otherwise="0123")
    assert made == kept
