"""Files that were taken away, expired, or are swept with their session."""

import pytest
from django.db.utils import IntegrityError

from approvals.resume.purging import purge_tenant, sweep_all
from approvals.services.erasure import erase_session, erase_subject
from audit.verify import verify_tenant
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from sessions.models import Artifact, Session
from sessions.services import artifacts as verbs
from sessions.services import remove_artifact
from sessions.services.artifacts import expire_artifacts, sweep_files
from sessions.services.retention import lift_hold, place_hold
from tenants.principal import Principal
from tenants.services.data_keys import destroy_data_key
from tests.chain import kinds_of
from tests.refusals import refused
from tests.sessions.artifact_stage import (
    BY,
    PDF,
    age,
    content,
    files,
    folder,
    listed,
    put,
    rows,
)

# -- Going ------------------------------------------------------------------------------


def test_what_was_taken_away_is_gone_with_its_file(
    who: Principal, session: Session
) -> None:
    artifact = put(who, session).artifact
    take = {"who": who, "session_id": session.id, "digest": artifact.digest}
    remove_artifact(**take)
    assert listed(who, session) == []
    with refused("not_found", status=404):
        content(who, session, artifact.digest)
    with refused("not_found", status=404):
        remove_artifact(**take)
    fresh = put(who, session).artifact
    purge_tenant(who.tenant_id)
    assert [file.name for file in files(session)] == [str(fresh.id)]
    assert rows(who) == 1
    kinds = ["artifact.put", "artifact.removed"]
    assert kinds_of(who.tenant_id, artifact.id) == kinds


def test_what_expired_is_not_there_and_goes(who: Principal, session: Session) -> None:
    artifact = put(who, session).artifact
    other = put(who, session, b"%PDF-2").artifact
    age(artifact)
    assert listed(who, session) == [other.digest]
    with refused("not_found", status=404):
        content(who, session, artifact.digest)
    purge_tenant(who.tenant_id)
    assert [file.name for file in files(session)] == [str(other.id)]
    assert kinds_of(who.tenant_id, artifact.id)[-1] == "artifact.removed"
    assert verify_tenant(who.tenant_id).intact


def test_what_expired_and_is_put_again_is_there(
    who: Principal, session: Session
) -> None:
    artifact = put(who, session).artifact
    age(artifact)
    assert put(who, session).artifact.id == artifact.id
    assert content(who, session, artifact.digest) == PDF


def test_an_erased_session_has_no_files(who: Principal, session: Session) -> None:
    digest = put(who, session, name="who.pdf").artifact.digest
    erase_subject(tenant_id=who.tenant_id, by=BY, subject=session.subject)
    with refused("data_erased", status=410):
        content(who, session, digest)
    with refused("data_erased", status=410):
        put(who, session)
    purge_tenant(who.tenant_id, steps=20)  # as the beat does: nothing is swept
    assert (files(session), folder(session).exists(), rows(who)) == ([], False, 0)


def test_without_the_key_of_the_tenant_nothing_opens(
    who: Principal, session: Session
) -> None:
    digest = put(who, session).artifact.digest
    destroy_data_key(who.tenant_id)
    with refused("data_erased", status=410):
        content(who, session, digest)


def test_what_is_held_stays(who: Principal, session: Session) -> None:
    artifact = put(who, session).artifact
    where = {"tenant_id": who.tenant_id, "by": BY}
    hold = place_hold(**where, reason="Dispute 7", session_id=session.id)
    take = {"who": who, "session_id": session.id, "digest": artifact.digest}
    with refused("legal_hold", status=409):
        remove_artifact(**take)
    age(artifact)
    assert expire_artifacts(who.tenant_id) == 0
    mine = Artifact.objects.filter(id=artifact.id)
    with pytest.raises(IntegrityError, match="hold"), tenant_transaction(who.tenant_id):
        mine.delete()
    with pytest.raises(IntegrityError, match="hold"), tenant_transaction(who.tenant_id):
        mine.update(removed_at=artifact.created_at)
    assert len(files(session)) == 1
    lift_hold(**where, hold_id=hold.id, reason="Over.")
    assert expire_artifacts(who.tenant_id) == 1


def test_a_hold_on_all_of_the_tenant_holds_it_too(
    who: Principal, session: Session
) -> None:
    artifact = put(who, session).artifact
    place_hold(tenant_id=who.tenant_id, by=BY, reason="Audit")
    age(artifact)
    assert expire_artifacts(who.tenant_id) == 0


# -- What a crash leaves ----------------------------------------------------------------


def test_a_file_without_a_row_is_swept_and_others_are_not(
    who: Principal, session: Session
) -> None:
    kept = put(who, session).artifact
    lost, foreign = folder(session) / str(new_id()), folder(session) / "notes.txt"
    lost.write_bytes(b"x")
    foreign.write_bytes(b"x")
    assert sweep_files(who.tenant_id) == 1
    assert sweep_files(who.tenant_id) == 0
    assert [file.name for file in files(session)] == [str(kept.id), "notes.txt"]
    assert content(who, session, kept.digest) == PDF
    lost.write_bytes(b"x")
    assert sweep_all().rows >= 1
    assert not lost.exists()


def test_a_put_that_failed_leaves_no_row(
    who: Principal, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(_artifact: Artifact) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(verbs, "_fingerprint", crash)
    with pytest.raises(KeyboardInterrupt):
        put(who, session)
    assert (len(files(session)), rows(who)) == (1, 0)
    assert sweep_files(who.tenant_id) == 1
    assert files(session) == []


def test_a_purge_that_was_killed_after_the_files_goes_on(
    who: Principal, session: Session
) -> None:
    put(who, session)
    erase_session(tenant_id=who.tenant_id, by=BY, session_id=session.id)
    for file in files(session):
        file.unlink()
    purge_tenant(who.tenant_id)
    assert rows(who) == 0
