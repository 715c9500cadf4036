"""The page of the last drill: who sees it, and what it says."""

from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from audit.models import Entry
from config.management.commands import drill as command
from kernel.scope import tenant_transaction
from oversight.drills.incident import Incident, Verdict
from oversight.drills.report import Report, keep, last_report
from oversight.drills.scene import Counts, Evidence
from tenants.models import Role
from tests.factories import House, Somebody, fresh_house, fresh_member


@pytest.fixture(autouse=True)
def _reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "oversight.drills.report.report_file", lambda: tmp_path / "drills" / "last.json"
    )


def verdict(id: str, word: str = "passed", **more: object) -> Verdict:
    said = {"seconds": 1.25, "place": "own", "counts": Counts(kills=1, effects=2)}
    return Verdict(id=id, promise=f"About {id}", word=word, **{**said, **more})  # type: ignore[arg-type]


def report(*verdicts: Verdict) -> Report:
    return Report(
        at="2026-11-29T12:00:00+00:00",
        seconds=3.5,
        installation="http://127.0.0.1:8000",
        verdicts=verdicts,
    )


def page(who: Somebody, house: House) -> str:
    answer = who.browser().get(f"/t/{house.tenant.slug}/drills")
    assert answer.status_code == 200
    return answer.content.decode()


def test_it_says_what_passed_failed_and_was_skipped() -> None:
    house = fresh_house()
    evidence = (Evidence("run", "a <b>run</b>"),)
    keep(
        report(
            verdict("broker-wiped", evidence=evidence),
            verdict("two-resumers", "failed", reason="effects: 2"),
            verdict("clock-skew", "skipped", reason="libfaketime is not installed"),
        )
    )
    text = page(house.alice, house)
    assert "1 of 3 incidents passed, 1 failed, 1 skipped, in 4 seconds." in text
    for said in ("broker-wiped", "About two-resumers", "effects: 2", "libfaketime"):
        assert said in text
    assert "<b>run</b>" not in text


def test_a_number_that_ought_to_be_0_stands_out() -> None:
    house = fresh_house()
    keep(report(verdict("broker-wiped", "failed", counts=Counts(duplicates=3))))
    assert "3, and there must be none" in page(house.alice, house)


def test_before_the_first_it_says_how_to_hold_one() -> None:
    house = fresh_house()
    assert "No drill was held yet" in page(house.alice, house)


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"at": 1}'])
def test_a_report_that_cannot_be_read_is_none(damage: bytes, tmp_path: Path) -> None:
    keep(report(verdict("broker-wiped")))
    (tmp_path / "drills" / "last.json").write_bytes(damage)
    assert last_report() is None


@pytest.mark.parametrize(
    ("role", "seen"),
    [
        (Role.ADMIN, True),
        (Role.AUDITOR, True),
        (Role.REVIEWER, False),
        (Role.DEVELOPER, False),
    ],
)
def test_it_is_for_those_who_oversee_the_tenant(role: Role, seen: bool) -> None:
    house = fresh_house()
    who = fresh_member(house.alice, "Erin", role=role).browser()
    at = f"/t/{house.tenant.slug}"
    assert who.get(f"{at}/drills").status_code == (200 if seen else 403)
    assert (f"{at}/drills" in who.get(f"{at}/runs").content.decode()) == seen


def test_a_stranger_finds_nothing_and_nobody_gets_in_unknown() -> None:
    house = fresh_house()
    at = f"/t/{house.tenant.slug}/drills"
    assert house.charlie.browser().get(at).status_code == 404
    assert Client().get(at).status_code == 302
    assert house.alice.browser().post(at).status_code in {403, 405}


def test_what_is_kept_is_what_was_held() -> None:
    held = report(verdict("broker-wiped", evidence=(Evidence("run", "1", "/t/a"),)))
    keep(held)
    assert last_report() == held


def test_a_tenant_that_asks_has_it_in_its_audit_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    house = fresh_house()

    def held(incidents: list[Incident], folder: Path | None) -> list[Verdict]:
        return [verdict(each.id) for each in incidents]

    monkeypatch.setattr(command, "_held", held)
    slug = house.tenant.slug
    call_command("drill", "--json", "--only", "broker-wiped", "--tenant", slug)
    assert '"passed": true' in capsys.readouterr().out
    with tenant_transaction(house.id):
        entry = Entry.objects.get(kind="drill.reported")
    assert entry.actor_type == "operator"
    assert entry.data["verdicts"] == {"passed": 1, "failed": 0, "skipped": 0}
    assert entry.data["counts"]["duplicates"] == 0


@pytest.mark.parametrize(("word", "code"), [("failed", 1), ("skipped", 1)])
def test_the_command_fails_if_one_failed_or_nothing_was_held(
    monkeypatch: pytest.MonkeyPatch, word: str, code: int
) -> None:
    monkeypatch.setattr(command, "_held", lambda *_: [verdict("broker-wiped", word)])
    with pytest.raises(SystemExit) as ended:
        call_command("drill", "--only", "broker-wiped")
    assert ended.value.code == code
