"""A worker verifies the audit log because somebody asked for it in the browser."""

from django.conf import settings

from config.demo.reviewer import Reviewer
from kernel.scope import tenant_transaction
from oversight.models import Verification
from tests.examples.waiting import wait_until
from tests.factories import House, fresh_house
from tests.installation import Installation


def test_it_is_found_whole(installation: Installation) -> None:
    house = fresh_house()
    name = settings.SESSION_COOKIE_NAME
    with Reviewer.at(installation.url, house.tenant.slug) as alice:
        alice.http.cookies.set(name, house.alice.browser().cookies[name].value)
        ask(alice)
    wait_until(lambda: states(house) == ["intact"])


def ask(alice: Reviewer) -> None:
    place = f"/t/{alice.tenant}/audit"
    alice.http.get(place)
    token = alice.http.cookies[settings.CSRF_COOKIE_NAME]
    answer = alice.http.post(f"{place}/verify", data={"csrfmiddlewaretoken": token})
    assert answer.status_code == 303


def states(house: House) -> list[str]:
    with tenant_transaction(house.tenant.id):
        return list(Verification.objects.values_list("state", flat=True))
