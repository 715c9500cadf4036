"""The signing key: made once, kept private, refused when it is not."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey
from django.core.exceptions import ImproperlyConfigured

from audit.keys import create_key, is_signed, key_id, signing_key, trusted_keys


@pytest.fixture
def path(settings, tmp_path: Path) -> Path:
    settings.AUDIT_KEY = tmp_path / "keys" / "audit.pem"
    return settings.AUDIT_KEY


def test_an_embedded_installation_makes_its_own(path: Path) -> None:
    key = signing_key()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert list(path.parent.iterdir()) == [path]
    assert key.id == key_id(key.private.public_key())
    assert len(key.id) == 16
    assert is_signed(trusted_keys()[key.id], key.sign(b"x"), b"x")
    assert not is_signed(trusted_keys()[key.id], key.sign(b"x"), b"y")


def test_any_other_must_be_given_one(path: Path, settings) -> None:
    settings.EMBEDDED = False
    with pytest.raises(ImproperlyConfigured, match="no key at"):
        signing_key()
    assert not path.exists()


def test_a_key_is_never_replaced(path: Path) -> None:
    create_key(path)
    before = path.read_bytes()
    create_key(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_key_that_others_may_read_is_refused(path: Path, mode: int) -> None:
    create_key(path)
    path.chmod(mode)
    with pytest.raises(ImproperlyConfigured, match="chmod 600"):
        signing_key()


def test_a_key_of_another_kind_is_refused(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(
        Ed448PrivateKey.generate().private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    path.chmod(0o600)
    with pytest.raises(ImproperlyConfigured, match="not an Ed25519"):
        signing_key()
