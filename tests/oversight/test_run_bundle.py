"""The signed bundle of one run: checked without Django, and no byte of it can change."""

import json
import random
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import audit
from approvals.models import Decision, Request
from approvals.services.erasure import erase_session
from approvals.services.taking_back import take_back
from audit.anchor_copy import write_anchor_copy
from audit.anchors import anchor, anchor_recovered
from audit.keys import key_id
from audit.models import Entry
from audit.offline.verify_bundle import LINE_DOMAIN, Broken, Unchecked, check
from audit.verify import Reason, verify_tenant
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from oversight.pages.run_bundle import write_run_bundle
from tests.approvals.stage import Stage, fresh_stage
from tests.approvals.views.browsing import reader
from tests.audit.conftest import superuser as superuser

OFFLINE = Path(audit.__file__).parent / "offline" / "verify_bundle.py"
HOSTILE = "\x1b[2K\rintact\x1b[8m\u202e" + "x" * 100_000


@pytest.fixture
def stage(settings: Any, tmp_path: Path) -> Stage:
    settings.DATA_DIR = tmp_path  # whose anchors are ours alone
    return fresh_stage()


def decided(stage: Stage) -> Request:
    """A run that another one's entries lie between."""
    stage.policy(rules=[{"approvals": 1}])
    request = stage.ask()
    stage.ask()
    stage.answer(request)
    return request


def bundle(request: Request) -> bytes:
    out = BytesIO()
    write_run_bundle(request.tenant_id, request.run_id, out)
    return out.getvalue()


def copied(stage: Stage) -> list[bytes]:
    out = BytesIO()
    write_anchor_copy(stage.tenant_id, out)
    return out.getvalue().splitlines(keepends=True)


def verified(tmp_path: Path, content: bytes, **options: Any) -> str:
    file = tmp_path / "bundle.ndjson"
    file.write_bytes(content)
    return check(file, {}, **options)


def lines(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


def test_it_is_checked_without_django(stage: Stage, tmp_path: Path) -> None:
    file = tmp_path / "bundle.ndjson"
    file.write_bytes(bundle(decided(stage)))
    done = subprocess.run(
        [sys.executable, "-I", str(OFFLINE), str(file)], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout[:11]) == (0, "intact run ")


def test_it_has_what_was_taken_back(stage: Stage, tmp_path: Path) -> None:
    stage.reviewer("Carol")
    stage.policy(rules=[{"approvals": 2}])
    request = stage.ask()
    stage.answer(request)
    digest = stage.digest(request)
    take_back(stage.bob.person, request_id=request.id, digest=digest)
    content = bundle(request)
    kinds = [
        json.loads(b64decode(one["entry"]["body"]))["kind"]
        for one in lines(content)
        if "entry" in one
    ]
    assert kinds[-2:] == ["decision.recorded", "decision.taken_back"]
    assert "0 anchors" in verified(tmp_path, content)


def test_it_has_what_concerns_the_run_and_no_word_of_others(
    stage: Stage, tmp_path: Path
) -> None:
    request = decided(stage)
    content = bundle(request)
    bodies = [
        json.loads(b64decode(one["entry"]["body"]))
        for one in lines(content)
        if "entry" in one
    ]
    assert {one["kind"] for one in bodies} >= {
        "run.started",
        "checkpoint.saved",
        "request.asked",
        "decision.recorded",
        "grant.issued",
    }
    with tenant_transaction(stage.tenant_id):
        others = Entry.objects.filter(kind="request.asked").exclude(
            subject_id=request.id
        )
        assert others.count() == 1
        assert others.get().seq not in [one["seq"] for one in bodies]
    kinds = [one["evidence"]["kind"] for one in lines(content) if "evidence" in one]
    assert {"envelope", "policy", "transition"} == set(kinds)
    assert "0 anchors" in verified(tmp_path, content)


def test_an_anchor_that_saw_it_is_in_it_and_one_kept_elsewhere_agrees(
    stage: Stage, tmp_path: Path
) -> None:
    request = decided(stage)
    anchor()
    stage.ask()  # after what the anchor saw, and so of no concern
    content = bundle(request)
    for kind in ("anchors", "server_anchors"):
        kept = tmp_path / "anchors.ndjson"
        if kind == "anchors":
            kept = tmp_path / "copy.ndjson"
            kept.write_bytes(b"".join(copied(stage)))
        said = verified(tmp_path, content, **{kind: kept})
        assert "1 anchors, 1 of them kept elsewhere" in said
        assert " UTC, 1 of this tenant's\n1 key in the file; signed by " in said


@pytest.mark.parametrize(
    ("spoil", "error", "why"),
    [
        (lambda mine, theirs: [], Unchecked, "lack the signed last line"),
        (lambda mine, theirs: mine[:-1], Unchecked, "lack the signed last line"),
        (lambda mine, theirs: [*mine[:-1], mine[-1][:-1]], Unchecked, "break off"),
        (lambda mine, theirs: [mine[-1]], Broken, "changed, or are missing"),
        (lambda mine, theirs: theirs, Broken, "another tenant's"),
        (lambda mine, theirs: [theirs[-1]], Broken, "another tenant's"),
        (lambda mine, theirs: [theirs[0], *mine], Broken, "another tenant's"),
        (lambda mine, theirs: [*mine, mine[-1]], Broken, "there is more"),
        (
            lambda mine, theirs: [
                *mine[:-1],
                mine[-1].replace(b'"whole":true', b'"whole":false'),
            ],
            Broken,
            "the last line is not what was written",
        ),
    ],
)
@pytest.mark.parametrize("alone", [True, False])
def test_a_copy_s_end_counts_as_it_does_for_the_whole_log(
    stage: Stage,
    tmp_path: Path,
    spoil: Callable[[list[bytes], list[bytes]], list[bytes]],
    error: type[Exception],
    why: str,
    alone: bool,
) -> None:
    other, request = fresh_stage(), decided(stage)
    anchor()
    mine, theirs = copied(stage), copied(other)
    if alone:
        (tmp_path / "anchors.ndjson").unlink()
        anchor_recovered(stage.tenant_id)
        mine = copied(stage)
    kept = tmp_path / "kept.ndjson"
    kept.write_bytes(b"".join(spoil(mine, theirs)))
    with pytest.raises(error, match=why):
        verified(tmp_path, bundle(request), anchors=kept)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda head: head["about"].update(run=HOSTILE),
        lambda head: head.update(about={HOSTILE: "x"}),
        lambda head: head.update(entries=[HOSTILE]),
        lambda head: head.update(to=HOSTILE),
        lambda head: head.update({"from": HOSTILE}),
        lambda head: head.update(key_id=HOSTILE),
        lambda head: head.update(format=HOSTILE),
        lambda head: head.update(tenant=HOSTILE),
        lambda head: head.update({"from": 1 << 200}),
        lambda head: head.update(about=[]),
    ],
)
def test_no_text_of_a_bundle_reaches_the_terminal(
    stage: Stage, tmp_path: Path, spoil: Callable[[dict[str, Any]], None]
) -> None:
    """Whoever makes keys of their own can sign anything."""
    key, said = Ed25519PrivateKey.generate(), lines(bundle(decided(stage)))
    public = b64encode(key.public_key().public_bytes_raw()).decode()
    said[0]["keys"][key_id(key.public_key())] = public
    said[0]["key_id"] = key_id(key.public_key())
    spoil(said[0])
    file = tmp_path / "bundle.ndjson"
    file.write_bytes(resigned(said, key))
    done = subprocess.run(
        [sys.executable, "-I", str(OFFLINE), str(file)], capture_output=True, text=True
    )
    told = done.stdout + done.stderr
    assert done.returncode in {0, 1, 2}
    assert "Traceback" not in told
    assert len(told) < 1_000
    assert all(" " <= one <= "~" or one == "\n" for one in told)


def resigned(said: list[dict[str, Any]], key: Ed25519PrivateKey) -> bytes:
    state, out = bytes(32), b""
    for line in said:
        line.pop("signed")
        text = json.dumps(line, separators=(",", ":")).encode()
        state = sha256(state + text).digest()
        signature = b64encode(key.sign(LINE_DOMAIN + state))
        out += text[:-1] + b',"signed":"' + signature + b'"}\n'
    return out


def test_an_anchor_kept_elsewhere_may_disagree(
    stage: Stage, tmp_path: Path, superuser: Any
) -> None:
    request = decided(stage)
    anchor()
    kept = tmp_path / "kept.ndjson"
    (tmp_path / "anchors.ndjson").rename(kept)
    with tenant_transaction(stage.tenant_id):
        other = Entry.objects.exclude(subject_id=request.id).filter(
            kind="request.asked"
        )
        seq = other.get().seq
    body = bytes(superuser.column(stage.tenant_id, seq, "body"))
    superuser.change(stage.tenant_id, seq, body=body.replace(b'"v":1', b'"v":2'))
    superuser.rehash(stage.tenant_id)
    with pytest.raises(Broken):
        verified(tmp_path, bundle(request), server_anchors=kept)


def test_every_byte_counts(stage: Stage, tmp_path: Path) -> None:
    """A change of any line, and of a generous sample of bytes, names line and entry."""
    request = decided(stage)
    anchor()
    content = bundle(request)
    verified(tmp_path, content)
    rows, start = content.splitlines(keepends=True), 0
    chance = random.Random(7)
    for number, row in enumerate(rows, start=1):
        places = {0, len(row) - 1, *chance.sample(range(len(row)), 12)}
        for place in places:
            spoilt = bytearray(content)
            spoilt[start + place] ^= 1 << chance.randrange(8)
            with pytest.raises(Broken) as flaw:
                verified(tmp_path, bytes(spoilt))
            assert str(flaw.value).startswith(f"line {number}, "), (number, place)
            entry = "header" if number == 1 else "at entry "
            assert entry in str(flaw.value)
        start += len(row)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda rows: rows[:-1],
        lambda rows: [*rows, rows[-1]],
        lambda rows: [rows[0], rows[2], rows[1], *rows[3:]],
        lambda rows: [*rows[:3], *rows[4:]],
        lambda rows: rows[1:],
        lambda rows: [],
    ],
)
def test_lines_cannot_be_moved_or_left_out(
    stage: Stage, tmp_path: Path, spoil: Callable[[list[bytes]], list[bytes]]
) -> None:
    rows = bundle(decided(stage)).splitlines(keepends=True)
    with pytest.raises(Broken):
        verified(tmp_path, b"".join(spoil(rows)))


def test_a_superuser_who_changes_who_decided_is_found(
    stage: Stage, tmp_path: Path, superuser: Any
) -> None:
    """Also when every hash was made right again: nobody without the key can sign."""
    request = decided(stage)
    with tenant_transaction(stage.tenant_id):
        seq = Entry.objects.get(kind="decision.recorded").seq
    alice, bob = str(stage.house.alice.id), str(stage.bob.id)
    body = bytes(superuser.column(stage.tenant_id, seq, "body"))
    body = body.replace(bob.encode(), alice.encode())
    data = json.dumps(json.loads(body)["data"])
    superuser.change(stage.tenant_id, seq, body=body, actor_id=alice, data=data)
    superuser.rehash(stage.tenant_id)
    flaw = verify_tenant(stage.tenant_id).flaw
    assert flaw is not None
    assert (flaw.seq, flaw.reason) == (seq, Reason.SIGNATURE)
    with pytest.raises(Broken, match=f"at entry {seq}: it is not signed"):
        verified(tmp_path, bundle(request))


def test_an_envelope_that_was_exchanged_is_found(
    stage: Stage, tmp_path: Path, superuser: Any
) -> None:
    request = decided(stage)
    count = superuser.execute(
        "UPDATE approvals_revision SET envelope ="
        " convert_to(replace(convert_from(envelope, 'UTF8'), '1240.00', '9240.00'),"
        " 'UTF8') WHERE request_id = %s",
        request.id,
    )
    assert count == 1
    with pytest.raises(Broken, match="the envelope is not what"):
        verified(tmp_path, bundle(request))


def test_what_was_erased_is_absent_under_the_entry_that_says_so(
    stage: Stage, tmp_path: Path
) -> None:
    request = stage.ask()
    stage.answer(request, verdict=Decision.Verdict.REJECT, reason="No.")
    erase_session(
        tenant_id=stage.tenant_id,
        by=stage.house.alice.id,
        session_id=request.session_id,
    )
    content = bundle(request)
    assert "(0 erased)" not in verified(tmp_path, content)
    assert any(
        one["evidence"]["content"] is None
        for one in lines(content)
        if "evidence" in one
    )


def test_a_key_that_is_not_trusted_is_named(stage: Stage, tmp_path: Path) -> None:
    file = tmp_path / "bundle.ndjson"
    file.write_bytes(bundle(decided(stage)))
    with pytest.raises(Broken, match=r"line 1, the header: .* not signed"):
        check(file, {"0" * 16: _other_key()})


def test_only_those_who_oversee_take_it(stage: Stage) -> None:
    request = decided(stage)
    path = f"runs/{request.run_id}/bundle"
    assert reader(stage).post(path, {}).status_code == 403
    alice = reader(stage, stage.house.alice)
    assert alice.post(f"runs/{new_id()}/bundle", {}).status_code == 404
    assert alice.post(path, {}).status_code == 200
    with tenant_transaction(stage.tenant_id):
        taken = Entry.objects.get(kind="audit.exported")
    assert taken.data == {"form": "run", "asked": {"run": str(request.run_id)}}
    assert b"def main" in reader(stage).get("verify_bundle.py").content


def _other_key() -> Any:
    return Ed25519PrivateKey.generate().public_key()
