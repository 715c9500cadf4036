"""Settings, as a production installation and as an embedded one would have them."""

import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from config import env

BASE_DIR = Path(__file__).resolve().parent.parent.parent

PRODUCTION = {
    "DATABASE_URL": "postgresql://keyturn_app:p%40ss@db.internal:5433/keyturn?sslmode=require",
    "DJANGO_SECRET_KEY": "a-key-for-a-test-and-nothing-else",
    "KEYTURN_BASE_URL": "https://keyturn.example/",
}


def settings_with(variables: dict[str, str], *names: str) -> dict[str, object]:
    """Return the named settings of a fresh process."""
    script = (
        "import json, sys; from config import settings;"
        "print(json.dumps({n: getattr(settings, n) for n in sys.argv[1:]}, default=str))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *names],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    values: dict[str, object] = json.loads(done.stdout)
    return values


def test_production_is_strict() -> None:
    names = (
        *("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_SSL_REDIRECT"),
        *("SESSION_COOKIE_NAME", "ALLOWED_HOSTS", "DEBUG", "DATABASES"),
        *("CSRF_TRUSTED_ORIGINS", "SECURE_PROXY_SSL_HEADER"),
    )
    found = settings_with(PRODUCTION | {"KEYTURN_BEHIND_PROXY": "yes"}, *names)
    databases = found.pop("DATABASES")
    assert found == {
        "SESSION_COOKIE_SECURE": True,
        "CSRF_COOKIE_SECURE": True,
        "SECURE_SSL_REDIRECT": True,
        "SESSION_COOKIE_NAME": "__Host-keyturn_session",
        "ALLOWED_HOSTS": ["keyturn.example"],
        "DEBUG": False,
        "CSRF_TRUSTED_ORIGINS": ["https://keyturn.example"],
        "SECURE_PROXY_SSL_HEADER": ["HTTP_X_FORWARDED_PROTO", "https"],
    }
    assert isinstance(databases, dict)
    default = databases["default"]
    assert (default["HOST"], default["PORT"]) == ("db.internal", "5433")
    assert (default["USER"], default["PASSWORD"]) == ("keyturn_app", "p@ss")
    assert default["OPTIONS"]["sslmode"] == "require"
    # A server without the owner's URL has no way to become the owner.
    for alias in ("owner", "relay"):
        assert databases[alias] == {"ENGINE": "django.db.backends.dummy"}


def test_passwords_are_kept_as_django_advises() -> None:
    """Only tests keep them in fewer rounds."""
    assert not hasattr(import_module("config.settings"), "PASSWORD_HASHERS")


def test_pages_forbid_everything_but_our_own_files(client: Client) -> None:
    answer = client.get("/health/live?format=json")
    assert answer.status_code == 200
    policy = dict(
        directive.split(" ", 1)
        for directive in answer["Content-Security-Policy"].split("; ")
    )
    ours = ("script", "style", "img", "font", "connect")
    assert policy == {
        "default-src": "'none'",
        **{f"{kind}-src": "'self'" for kind in ours},
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["Referrer-Policy"] == "same-origin"


def test_ready_asks_the_database(client: Client) -> None:
    assert client.get("/health/ready?format=json").status_code == 200


def test_every_variable_is_documented() -> None:
    """And nothing is documented that no longer exists."""
    # The demo tells its own programs things that nobody else sets.
    demo = BASE_DIR / "config" / "demo"
    sources = [
        source
        for source in BASE_DIR.glob("config/**/*.py")
        if not source.is_relative_to(demo)
    ]
    read = {
        name
        for source in sources
        for name in re.findall(
            r'"((?:DJANGO|KEYTURN|DATABASE|CELERY)_[A-Z_]+)"', source.read_text()
        )
    } - {"DJANGO_SETTINGS_MODULE"}
    # Passwords go to bootstrap.sql, whose own head explains them.
    read = {name for name in read if not name.endswith("_PASSWORD")}
    page = (BASE_DIR / "docs" / "settings.md").read_text()
    assert set(re.findall(r"^\| `([A-Z_]+)`", page, flags=re.MULTILINE)) == read


@pytest.mark.parametrize(
    "url",
    ["mysql://a/b", "keyturn", "postgresql://us:secret@%zz/x", "sqlite:///x"],
)
def test_a_wrong_database_url_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ImproperlyConfigured) as refusal:
        env.database(url)
    assert url not in str(refusal.value)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("value", "meant"),
    [("1", True), ("Yes", True), ("off", False), ("", False), (" ", False)],
)
def test_flags(monkeypatch: pytest.MonkeyPatch, value: str, meant: bool) -> None:
    monkeypatch.setenv("KEYTURN_TEST_FLAG", value)
    assert env.flag("KEYTURN_TEST_FLAG") is meant


@pytest.mark.parametrize("value", ["tru", "2", "on!"])
def test_a_slip_turns_nothing_on(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("KEYTURN_TEST_FLAG", value)
    with pytest.raises(ImproperlyConfigured, match="must be yes or no"):
        env.flag("KEYTURN_TEST_FLAG")


def test_numbers_and_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEYTURN_TEST", " a, b ,,c ")
    assert env.items("KEYTURN_TEST") == ["a", "b", "c"]
    with pytest.raises(ImproperlyConfigured, match="must be a number"):
        env.number("KEYTURN_TEST", 1)
    monkeypatch.setenv("KEYTURN_TEST", "12")
    assert env.number("KEYTURN_TEST", 1) == 12


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("smtp://mail.example", {"port": 587, "use_tls": True, "use_ssl": False}),
        ("smtps://mail.example", {"port": 465, "use_tls": False, "use_ssl": True}),
        ("smtp://a%40b:c@mail.example:25", {"port": 25, "username": "a@b"}),
    ],
)
def test_mail_is_never_sent_in_the_clear(url: str, options: dict[str, object]) -> None:
    found = env.mailer(url)["OPTIONS"]
    assert found["use_tls"] or found["use_ssl"]
    assert {name: found[name] for name in options} == options


def test_a_mail_url_of_another_kind_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="smtp://"):
        env.mailer("http://mail.example")
