"""What every release saved is read by this one, to the bit, in any process."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from checkpoints.checkpoint import Position
from checkpoints.services import (
    read_checkpoint,
    restore_checkpoint,
    save_checkpoint,
)
from checkpoints.upgrades import Content, registry
from examples.invoice.progress import SCHEMA_VERSION, restore
from examples.invoice.tool_definitions import WORKFLOW, WORKFLOW_KIND
from sessions.models import Session
from sessions.services import define_workflow, start_run
from tenants.principal import Principal
from tests.checkpoints.golden.__main__ import HERE, fixture
from tests.factories import House

ROOT = Path(__file__).parents[2]
FIXTURES = sorted((file.parent.name, int(file.stem)) for file in HERE.glob("*/*.json"))
CASES = [(*one, case) for one in FIXTURES for case in fixture(*one)]


def shipped() -> dict[str, set[int]]:
    """Every schema version that this release saves or reads, by kind of work."""
    found = {
        kind: {
            version
            for step in registry.steps(kind)
            for version in (step.from_version, step.to_version)
        }
        for kind in registry.kinds()
    }
    invoice = {*WORKFLOW["schema_versions"], SCHEMA_VERSION}
    found.setdefault(WORKFLOW_KIND, set()).update(invoice)
    return found


def test_each_shipped_version_has_its_fixture() -> None:
    """A new schema version: add `golden/KIND/VERSION.json` and never change it."""
    wanted = {(kind, version) for kind, of in shipped().items() for version in of}
    assert wanted == set(FIXTURES)


@pytest.mark.parametrize(("kind", "version"), FIXTURES)
def test_two_processes_with_other_hash_seeds_restore_the_committed_digest(
    kind: str, version: int
) -> None:
    with ThreadPoolExecutor() as pool:
        first, second = pool.map(lambda seed: digests(kind, version, seed), ("1", "77"))
    assert first == second == [case["digest"] for case in fixture(kind, version)]


def digests(kind: str, version: int, seed: str) -> list[str]:
    command = [sys.executable, "-m", "tests.checkpoints.golden", kind, str(version)]
    told = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run(
        command, cwd=ROOT, env=told, check=True, capture_output=True, timeout=60
    )
    return done.stdout.decode().split()


@pytest.mark.parametrize(
    ("kind", "version", "case"),
    CASES,
    ids=[f"{k}-{v}-{c['name']}" for k, v, c in CASES],
)
def test_a_run_of_then_is_restored_for_the_agent_of_now(
    house: House,
    who: Principal,
    session: Session,
    kind: str,
    version: int,
    case: dict[str, Any],
) -> None:
    define(house, kind, [version])  # as the release of then had it
    run, _ = start_run(who=who, session_id=session.id, workflow=kind)
    saved = save_checkpoint(
        who=who,
        run_id=run.id,
        fence=run.fence,
        position=Position(
            parent=None,
            schema_version=version,
            payload=case["payload"].encode(),
            header=case["header"],
        ),
    )
    define(house, kind, WORKFLOW["schema_versions"])
    found = restore_checkpoint(who=who, run_id=run.id)

    assert found.restored.content.digest.hex() == case["digest"]
    assert found.restored.schema_version == SCHEMA_VERSION
    assert [one["from"] for one in found.report["schema"]["steps"]] == list(
        range(version, SCHEMA_VERSION)
    )
    progress = restore(
        found.restored.content.payload.decode(), schema_version=SCHEMA_VERSION
    )
    assert progress.header() == case["header"]
    read = read_checkpoint(who=who, run_id=run.id)
    assert read.payload == case["payload"].encode()
    assert (read.schema_version, read.digest) == (version, saved.digest)


def define(house: House, kind: str, versions: list[int]) -> None:
    definition = {**WORKFLOW, "schema_versions": versions}
    define_workflow(
        tenant_id=house.id, by=house.alice.id, kind=kind, definition=definition
    )


def test_a_digest_covers_payload_and_header() -> None:
    one = Content(b"{}", {"completed": ["a"]})
    assert one.digest != Content(b"{ }", {"completed": ["a"]}).digest
    assert one.digest != Content(b"{}", {"completed": ["b"]}).digest
