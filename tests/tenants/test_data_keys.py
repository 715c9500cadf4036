"""A tenant's data key: wrapped outside the database, rotated, destroyed."""

import os
from concurrent.futures import Future, ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from uuid import UUID

import pytest
from django.conf import LazySettings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import connection

from audit.verify import verify_tenant
from config.boot import unsafe_settings
from kernel.scope import tenant_transaction
from kernel.sealing import Unreadable
from tenants.management.commands import rotate_data_keys
from tenants.master_keys import (
    add_master_key,
    create_master_key,
    keep_first_key,
    master_keys,
)
from tenants.models import DataKey
from tenants.services.data_keys import destroy_data_key, rewrap_data_key
from tenants.vault import tenant_key
from tenants.verbs import Verb, perform
from tests.chain import kinds_of
from tests.checkpoints.test_tools import gate_is_waited_for
from tests.concurrency import together
from tests.examples.waiting import wait_until
from tests.factories import House, fresh_house
from tests.refusals import refused


@pytest.fixture
def path(settings: LazySettings, tmp_path: Path) -> Path:
    settings.DATA_KEYS = tmp_path / "keys" / "data.keys"
    return settings.DATA_KEYS


@pytest.fixture
def tenant_id() -> UUID:
    return fresh_house().tenant.id


def key_of(tenant_id: UUID) -> bytes:
    with tenant_transaction(tenant_id):
        return tenant_key(tenant_id)


def wrapped_of(tenant_id: UUID) -> bytes:
    with tenant_transaction(tenant_id):
        return bytes(DataKey.objects.get(tenant_id=tenant_id).wrapped)


def test_an_embedded_installation_makes_its_own_and_keeps_it_private(
    path: Path,
) -> None:
    assert len(master_keys()) == 1
    assert path.stat().st_mode & 0o777 == 0o600
    assert master_keys() == master_keys()


def test_others_must_be_given_one(path: Path, settings: LazySettings) -> None:
    settings.EMBEDDED = False
    with pytest.raises(ImproperlyConfigured, match="KEYTURN_DATA_KEYS"):
        master_keys()
    assert any("KEYTURN_DATA_KEYS" in finding for finding in unsafe_settings())
    create_master_key(path)
    assert not any("KEYTURN_DATA_KEYS" in finding for finding in unsafe_settings())


@pytest.mark.parametrize("text", ["", "c2hvcnQ=", "not base64!"])
def test_a_malformed_file_is_refused(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(ImproperlyConfigured, match="32 bytes"):
        master_keys()


def test_an_exposed_file_is_refused(path: Path) -> None:
    create_master_key(path)
    path.chmod(0o640)
    with pytest.raises(ImproperlyConfigured, match="Others may read"):
        master_keys()


def test_eight_first_users_share_one_key(tenant_id: UUID) -> None:
    keys = together(*[lambda: key_of(tenant_id)] * 8)
    assert {key for key in keys if isinstance(key, bytes)} == {key_of(tenant_id)}


def test_tenants_have_keys_of_their_own(tenant_id: UUID, path: Path) -> None:
    assert key_of(tenant_id) != key_of(fresh_house().tenant.id)


def test_the_database_alone_opens_nothing(tenant_id: UUID, path: Path) -> None:
    key = key_of(tenant_id)
    assert key not in wrapped_of(tenant_id)
    path.unlink()
    with refused("data_key_elsewhere", status=503):
        key_of(tenant_id)


def test_a_key_wrapped_for_another_tenant_does_not_open(
    tenant_id: UUID, path: Path
) -> None:
    other = fresh_house().tenant.id
    key_of(tenant_id)
    key_of(other)
    theirs = wrapped_of(other)
    with tenant_transaction(tenant_id):
        DataKey.objects.filter(tenant_id=tenant_id).update(wrapped=theirs)
    with pytest.raises(Unreadable):
        key_of(tenant_id)


def test_a_rotation_keeps_the_key_and_stops_needing_the_former_one(
    tenant_id: UUID, path: Path
) -> None:
    key = key_of(tenant_id)
    former = path.read_bytes()
    add_master_key(path)
    assert rewrap_data_key(tenant_id)
    assert not rewrap_data_key(tenant_id)
    path.write_bytes(path.read_bytes().removesuffix(former))
    assert len(master_keys()) == 1
    assert key_of(tenant_id) == key
    assert kinds_of(tenant_id, tenant_id)[-1] == "tenant.data_key_rewrapped"


def test_wrapping_anew_waits_for_verbs_that_may_be_making_the_key(
    tenant_id: UUID, path: Path
) -> None:
    """Else a key that is not committed yet stays under what is to be forgotten."""
    create_master_key(path)

    def rewrapped() -> bool:
        try:
            return rewrap_data_key(tenant_id)
        finally:
            connection.close()

    def work(verb: Verb) -> Future[bool]:
        tenant_key(tenant_id)
        add_master_key(path)
        waiting = pool.submit(rewrapped)
        wait_until(lambda: gate_is_waited_for() or waiting.done())
        return waiting

    with ThreadPoolExecutor(max_workers=1) as pool:
        assert perform(tenant_id, work).result(timeout=10)


def test_forgetting_wraps_once_more_what_was_made_meanwhile(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tenant that is founded during the first pass is not in that pass's list."""
    create_master_key(path)
    houses = [fresh_house().tenant.id for _ in range(2)]
    lists = iter([houses[:1], houses])
    for tenant_id in houses:
        key_of(tenant_id)
    monkeypatch.setattr(rotate_data_keys, "tenants_with_chain", lambda: next(lists))
    monkeypatch.setattr(rotate_data_keys, "sealed_factors", lambda: [])
    out = StringIO()
    call_command("rotate_data_keys", new=True, forget=True, stdout=out)
    assert out.getvalue().startswith("2 keys wrapped anew")
    assert len(master_keys()) == 1
    assert len({key_of(tenant_id) for tenant_id in houses}) == 2


def test_forgetting_removes_drafts_that_a_crash_left_behind(path: Path) -> None:
    """They hold the keys that are to be forgotten."""
    create_master_key(path)
    drafts = [path.with_name(f".{path.name}.{name}") for name in (os.getpid(), "x1")]
    other = path.with_name(".other.keys.1")
    for file in (*drafts, other):
        file.write_bytes(path.read_bytes())
    add_master_key(path)
    keep_first_key(path)
    assert sorted(path.parent.iterdir()) == [other, path]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_key_that_cannot_be_wrapped_anew_keeps_the_former_ones(
    tenant_id: UUID, path: Path
) -> None:
    key_of(tenant_id)
    path.unlink()
    create_master_key(path)
    add_master_key(path)
    with pytest.raises(CommandError, match="is not here"):
        call_command("rotate_data_keys", forget=True)
    assert len(master_keys()) == 2


def test_a_destroyed_key_is_gone_and_is_not_made_again(house: House) -> None:
    tenant_id = house.tenant.id
    key_of(tenant_id)
    destroy_data_key(tenant_id)
    assert wrapped_of(tenant_id) == b""
    for _ in range(2):
        with refused("data_erased", status=410):
            key_of(tenant_id)
    assert not rewrap_data_key(tenant_id)
    assert verify_tenant(tenant_id).intact


def test_the_command_destroys_only_what_is_named_twice(house: House) -> None:
    key = key_of(house.tenant.id)
    with pytest.raises(CommandError, match="another tenant"):
        call_command("destroy_data_key", house.tenant.slug, confirm="other")
    assert key_of(house.tenant.id) == key
    out = StringIO()
    call_command(
        "destroy_data_key", house.tenant.slug, confirm=house.tenant.slug, stdout=out
    )
    with refused("data_erased"):
        key_of(house.tenant.id)
