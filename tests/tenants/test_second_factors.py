"""A password alone does not sign in whoever has a second factor, and nothing is guessed."""

from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.conf import LazySettings
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from audit.models import Entry
from kernel.scope import tenant_transaction
from tenants.factors import is_sealed_first, opened_factor, sealed_factor
from tenants.management.commands import rotate_data_keys
from tenants.master_keys import add_master_key, keep_first_key, master_keys
from tenants.models import User
from tenants.services.second_factors import reseal_factor
from tenants.signin.forms import OneTime
from tests.concurrency import together
from tests.factories import House, fresh_user
from tests.tenants.second_factors import (
    PASSWORD,
    SECRET,
    code_of,
    recovery_codes_of,
    shown_secret,
    signed_in,
    with_app,
    with_password,
    with_password_only,
    wrong_code,
)

ASK = "/accounts/2fa/authenticate/"
ADD = "/accounts/2fa/totp/activate/"
REMOVE = "/accounts/2fa/totp/deactivate/"
CODES = "/accounts/2fa/recovery-codes/"
AGAIN = "/accounts/reauthenticate/"
AGAIN_BY_CODE = "/accounts/2fa/reauthenticate/"


@pytest.fixture(autouse=True)
def _no_former_tries() -> Iterator[None]:
    """All tests of a process come from one address, whose tries are counted."""
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def lea() -> User:
    return with_app(fresh_user("Lea"))


def is_signed_in(browser: Client) -> bool:
    return browser.get("/accounts/2fa/").status_code == 200


def dump_of(table: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT coalesce(string_agg(t::text, ' '), '') FROM {table} t")
        return str(cursor.fetchone()[0])


def kinds(house: House) -> list[tuple[str, Any]]:
    with tenant_transaction(house.tenant.id):
        rows = Entry.objects.filter(subject_id=house.bob.id, kind__startswith="member.")
        return [(one.kind, one.data) for one in rows.order_by("seq")]


def test_a_password_alone_leads_to_the_second_step(lea: User) -> None:
    browser, answer = with_password_only(lea)
    assert answer.headers["Location"] == ASK
    assert not is_signed_in(browser)
    assert browser.post(ASK, {"code": wrong_code()}).status_code == 200
    assert not is_signed_in(browser)
    assert browser.post(ASK, {"code": code_of()}).status_code == 302
    assert is_signed_in(browser)


def test_the_second_step_is_nobodys_who_did_not_take_the_first(lea: User) -> None:
    browser = Client()
    answer = browser.post(ASK, {"code": code_of()})
    assert answer.headers["Location"].startswith("/accounts/login/")
    assert not is_signed_in(browser)


def test_another_persons_code_opens_nothing(lea: User) -> None:
    other = with_app(fresh_user("Max"))
    browser, _ = with_password_only(other)
    (code, *_) = recovery_codes_of(lea)
    assert browser.post(ASK, {"code": code}).status_code == 200
    assert not is_signed_in(browser)


def test_an_app_is_added_by_its_code_and_the_codes_are_shown_once() -> None:
    user = with_password(fresh_user("Lea"))
    browser = signed_in(user)
    assert browser.get(ADD).headers["Location"].startswith(AGAIN)
    browser.post(AGAIN, {"password": PASSWORD})
    secret = shown_secret(browser.get(ADD))
    assert b"<svg" in browser.get(ADD).content
    secret = shown_secret(browser.post(ADD, {"code": "000000"}))
    answer = browser.post(ADD, {"code": code_of(secret)})
    assert answer.headers["Location"] == CODES
    first, second = (browser.get(CODES).content.decode() for _ in range(2))
    codes = recovery_codes_of(user)
    assert all(code in first for code in codes)
    assert not any(code in second for code in codes)


def test_a_secret_is_in_no_dump_in_clear() -> None:
    """Neither while it is agreed on, which the session remembers, nor afterwards."""
    browser = signed_in(with_password(fresh_user("Lea")))
    browser.post(AGAIN, {"password": PASSWORD})
    secret = shown_secret(browser.get(ADD))
    assert browser.session["mfa.totp.secret"] != secret
    assert secret not in str(dict(browser.session.items()))
    browser.post(ADD, {"code": code_of(secret)})
    row = Authenticator.objects.get(
        type="totp", user_id=browser.session["_auth_user_id"]
    )
    assert opened_factor(row.data["secret"]) == secret
    assert secret not in dump_of("mfa_authenticator")


def test_recovery_codes_and_their_seed_are_in_no_dump_in_clear(lea: User) -> None:
    row = Authenticator.objects.get(user=lea, type="recovery_codes")
    dump = dump_of("mfa_authenticator")
    assert opened_factor(row.data["seed"]) not in dump
    assert not any(code in str(row.data) for code in recovery_codes_of(lea))


def test_a_code_counts_once_in_all_processes(lea: User) -> None:
    """The memory of one process is emptied between the two, as if they were two."""
    code = code_of()
    assert is_signed_in(signed_in(lea, code=code))
    cache.clear()
    browser, _ = with_password_only(lea)
    assert browser.post(ASK, {"code": code}).status_code == 200
    assert not is_signed_in(browser)


def test_a_code_older_than_one_that_was_used_counts_no_more(lea: User) -> None:
    signed_in(lea, code=code_of(steps=1))
    browser, _ = with_password_only(lea)
    assert browser.post(ASK, {"code": code_of()}).status_code == 200
    assert not is_signed_in(browser)


def test_a_recovery_code_works_once(lea: User) -> None:
    code, other, *_ = recovery_codes_of(lea)
    assert is_signed_in(signed_in(lea, code=code))
    browser, _ = with_password_only(lea)
    assert browser.post(ASK, {"code": code}).status_code == 200
    assert not is_signed_in(browser)
    assert browser.post(ASK, {"code": other}).status_code == 302


def test_a_recovery_code_works_once_in_a_race(lea: User) -> None:
    (code, *_) = recovery_codes_of(lea)
    browsers = [with_password_only(lea)[0] for _ in range(4)]

    def enter(browser: Client) -> int:
        status = browser.post(ASK, {"code": code}).status_code
        connection.close()
        return status

    answers = together(*[lambda one=one: enter(one) for one in browsers])
    assert sorted(answers) == [200, 200, 200, 302]


def test_guessing_is_stopped_and_the_right_code_no_longer_helps(lea: User) -> None:
    browser, _ = with_password_only(lea)
    for _ in range(5):
        browser.post(ASK, {"code": wrong_code()})
    answer = browser.post(ASK, {"code": code_of()})
    assert b"Too many failed" in answer.content
    assert not is_signed_in(browser)


def test_a_password_does_not_remove_a_second_factor(lea: User) -> None:
    """What a watched password and a stolen session are good for."""
    browser = signed_in(lea, code=code_of())
    assert browser.post(REMOVE).headers["Location"].startswith(AGAIN_BY_CODE)
    answer = browser.post(AGAIN, {"password": PASSWORD})
    assert answer.headers["Location"].startswith(AGAIN_BY_CODE)
    browser.post(REMOVE)
    assert Authenticator.objects.filter(user=lea, type="totp").exists()
    (code, *_) = recovery_codes_of(lea)
    browser.post(AGAIN_BY_CODE, {"code": code})
    assert browser.post(REMOVE).headers["Location"] == "/accounts/2fa/"
    assert not Authenticator.objects.filter(user=lea).exists()


def test_changes_and_the_way_in_are_on_the_record(house: House) -> None:
    user = with_password(house.bob.user)
    browser = signed_in(user)
    browser.post(AGAIN, {"password": PASSWORD})
    secret = shown_secret(browser.get(ADD))
    browser.post(ADD, {"code": code_of(secret)})
    signed_in(user, code=code_of(secret, steps=1))
    browser.post(REMOVE)
    assert kinds(house)[-4:] == [
        ("member.signed_in", {"methods": ["password"]}),
        ("member.factor_added", {"factor": "totp"}),
        ("member.signed_in", {"methods": ["password", "totp"]}),
        ("member.factor_removed", {"factor": "totp"}),
    ]


def test_a_wrong_code_adds_nothing_and_is_on_no_record(house: House) -> None:
    browser = signed_in(with_password(house.bob.user))
    browser.post(AGAIN, {"password": PASSWORD})
    secret = shown_secret(browser.get(ADD))
    assert browser.post(ADD, {"code": wrong_code(secret)}).status_code == 200
    assert "member.factor_added" not in dict(kinds(house))


# -- The key that seals them -----------------------------------------------------------


@pytest.fixture
def path(settings: LazySettings, tmp_path: Path) -> Path:
    settings.DATA_KEYS = tmp_path / "keys" / "data.keys"
    return settings.DATA_KEYS


def sealed_secret(user: User) -> Authenticator:
    return Authenticator.objects.get(user=user, type="totp")


def test_a_rotation_seals_them_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = with_app(fresh_user("Lea"))
    ids = list(Authenticator.objects.filter(user=user).values_list("id", flat=True))
    monkeypatch.setattr(rotate_data_keys, "tenants_with_chain", lambda: [])
    monkeypatch.setattr(rotate_data_keys, "sealed_factors", lambda: ids)
    call_command("rotate_data_keys", new=True, forget=True)
    assert len(master_keys()) == 1
    assert opened_factor(sealed_secret(user).data["secret"]) == SECRET
    assert not reseal_factor(ids[0])


def test_a_code_brings_nothing_back_that_a_rotation_replaced(path: Path) -> None:
    user, form = with_app(fresh_user("Lea")), OneTime()
    form.authenticator = sealed_secret(user)
    add_master_key(path)
    assert reseal_factor(form.authenticator.pk)  # after the form has read it
    with pytest.raises(ValidationError):
        form._use(code_of())
    assert is_sealed_first(sealed_secret(user).data["secret"])
    form.authenticator = sealed_secret(user)
    form._use(code_of())  # and the same code counts once it is read again


def test_what_cannot_be_sealed_again_keeps_the_former_keys(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = with_app(fresh_user("Lea"))
    path.unlink()
    sealed_factor("a new file")
    add_master_key(path)
    monkeypatch.setattr(rotate_data_keys, "tenants_with_chain", lambda: [])
    ids = [sealed_secret(user).id]
    monkeypatch.setattr(rotate_data_keys, "sealed_factors", lambda: ids)
    with pytest.raises(CommandError, match="is not here"):
        call_command("rotate_data_keys", forget=True)
    assert len(master_keys()) == 2


def test_without_its_key_nobody_is_let_in(path: Path) -> None:
    user = with_app(fresh_user("Lea"))
    add_master_key(path)
    keep_first_key(path)
    browser, _ = with_password_only(user)
    browser.raise_request_exception = False
    assert browser.post(ASK, {"code": code_of()}).status_code in (500, 503)
    assert not is_signed_in(browser)


# -- Lost ------------------------------------------------------------------------------


def test_an_operator_lets_somebody_in_who_has_lost_theirs(house: House) -> None:
    bob, other = with_app(house.bob.user), with_app(fresh_user("Max"))
    out = StringIO()
    call_command("remove_second_factors", bob.email, confirm=bob.email, stdout=out)
    assert out.getvalue() == "2 removed.\n"
    assert is_signed_in(with_password_only(bob)[0])
    assert not is_signed_in(with_password_only(other)[0])
    assert ("member.factors_removed", {}) in kinds(house)


def test_whoever_may_have_taken_the_device_is_signed_out(lea: User) -> None:
    there = signed_in(lea, code=code_of())
    assert is_signed_in(there)
    call_command("remove_second_factors", lea.email, confirm=lea.email)
    assert not is_signed_in(there)


def test_a_slip_removes_nothing(lea: User) -> None:
    other = fresh_user("Max").email
    for email, confirm, why in (
        (lea.email, other, "another address"),
        ("nobody@example.test", "nobody@example.test", "Nobody signs in"),
    ):
        with pytest.raises(CommandError, match=why):
            call_command("remove_second_factors", email, confirm=confirm)
    assert not is_signed_in(with_password_only(lea)[0])
