"""What one process counts, the others know: limits on guesses hold for all together."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client

from kernel.ids import new_id
from tests.concurrency import together
from tests.factories import fresh_user
from tests.tenants.second_factors import PASSWORD, with_password

GUESS = """
import django; django.setup()
from django.test import Client
browser = Client(SERVER_NAME="127.0.0.1")
for _ in range(5):
    said = {{"login": "{email}", "password": "wrong"}}
    assert browser.post("/accounts/login/", said).status_code == 200
"""


@pytest.fixture(autouse=True)
def _no_former_tries() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def test_guesses_in_another_process_count_here() -> None:
    lea = with_password(fresh_user("Lea"))
    code = GUESS.format(email=lea.email)
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
    browser = Client(SERVER_NAME="127.0.0.1")  # they count for each host
    said = {"login": lea.email, "password": PASSWORD}
    answer = browser.post("/accounts/login/", said)
    assert answer.status_code == 200
    assert "Too many failed" in answer.content.decode()


def test_what_is_kept_is_text_and_nothing_that_runs() -> None:
    name = new_id().hex
    cache.set(name, [1.5, 2])
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT value FROM tenants_cache WHERE key LIKE %s", [f"%{name}"]
        )
        assert cursor.fetchone() == ("[1.5, 2]",)
    with pytest.raises(TypeError):
        cache.set(name, object())


def test_only_one_of_many_adds() -> None:
    name = new_id().hex
    added = together(*[lambda: cache.add(name, True, 60)] * 8)
    assert sorted(map(bool, added)) == [False] * 7 + [True]


@pytest.mark.parametrize("seconds", [0, -1])
def test_what_is_over_is_as_if_it_were_not(seconds: float) -> None:
    name = new_id().hex
    cache.set(name, 1, seconds)
    assert cache.get(name, "none") == "none"
    assert cache.add(name, 2, None)
    assert cache.get(name) == 2
    assert cache.delete(name)
    assert not cache.delete(name)
    assert not cache.touch(name, 60)


def test_the_setup_code_is_not_guessed(monkeypatch: Any) -> None:
    monkeypatch.setattr("tenants.views.any_tenant", lambda: False)
    browser, said = Client(), {"code": "wrong", "name": "Mallory"}
    first = [browser.post("/start", said).status_code for _ in range(10)]
    assert first == [200] * 10
    refused = browser.post("/start", said)
    assert refused.status_code == 429
    assert "That is not the setup code" not in refused.content.decode()
    assert "Mallory" in refused.content.decode()
