"""Where people are signed in: their own, listed, and ended at once."""

from collections.abc import Iterator

import pytest
from allauth.usersessions.models import UserSession
from django.core.cache import cache

from audit.models import Entry
from kernel.scope import tenant_transaction
from tests.factories import House, fresh_user
from tests.tenants.second_factors import signed_in, with_password

PAGE = "/accounts/devices/"


@pytest.fixture(autouse=True)
def _no_former_tries() -> Iterator[None]:
    """All tests of a process come from one address, whose tries are counted."""
    cache.clear()
    yield
    cache.clear()


def named(browser: str) -> dict[str, str]:
    return {"User-Agent": browser}


def device_of(name: str) -> str:
    return str(UserSession.objects.get(user_agent=name).pk)


def test_each_sign_in_is_listed_with_its_browser() -> None:
    lea = with_password(fresh_user("Lea"))
    here = signed_in(lea, **named("Here"))
    signed_in(lea, **named("<script>There"))
    html = here.get(PAGE).content.decode()
    assert html.count("This device") == 1
    assert "&lt;script&gt;There" in html
    assert "127.0.0.1" in html


def test_a_session_that_was_ended_is_signed_out_at_once() -> None:
    lea = with_password(fresh_user("Lea"))
    name = f"Lost {lea.id}"
    here, lost = signed_in(lea), signed_in(lea, **named(name))
    assert lost.get(PAGE).status_code == 200
    answer = here.post(PAGE, {"device": device_of(name)})
    assert answer.headers["Location"] == PAGE
    assert lost.get(PAGE).headers["Location"].startswith("/accounts/login/")
    assert here.get(PAGE).status_code == 200
    assert name not in here.get(PAGE).content.decode()


def test_all_others_are_ended_together() -> None:
    lea = with_password(fresh_user("Lea"))
    here, *others = (signed_in(lea) for _ in range(3))
    here.post(PAGE, {"device": "others"})
    assert here.get(PAGE).status_code == 200
    assert [one.get(PAGE).status_code for one in others] == [302, 302]


def test_ending_this_one_signs_out_here() -> None:
    lea = with_password(fresh_user("Lea"))
    name = f"Here {lea.id}"
    here = signed_in(lea, **named(name))
    here.post(PAGE, {"device": device_of(name)})
    assert here.get(PAGE).status_code == 302


@pytest.mark.parametrize("device", ["0", "-1", "x", "", "9" * 30, "٣"])
def test_what_is_no_device_is_not_found(device: str) -> None:
    here = signed_in(with_password(fresh_user("Lea")))
    assert here.post(PAGE, {"device": device}).status_code == 404


def test_another_persons_device_cannot_be_ended() -> None:
    lea, max_ = (with_password(fresh_user(name)) for name in ("Lea", "Max"))
    name = f"Max {max_.id}"
    here, theirs = signed_in(lea), signed_in(max_, **named(name))
    device = device_of(name)
    assert name not in here.get(PAGE).content.decode()
    assert here.post(PAGE, {"device": device}).status_code == 404
    here.post(PAGE, {"device": "others"})
    assert theirs.get(PAGE).status_code == 200


def test_ending_a_device_is_on_the_record(house: House) -> None:
    bob = with_password(house.bob.user)
    here, _ = signed_in(bob), signed_in(bob)
    here.post(PAGE, {"device": "others"})
    with tenant_transaction(house.tenant.id):
        entry = Entry.objects.get(kind="member.signed_out")
    assert (entry.subject_id, entry.data) == (house.bob.id, {"devices": 1})
