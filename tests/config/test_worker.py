"""A worker as `celery` starts it, on the embedded services."""

import sys
from pathlib import Path

from django.conf import LazySettings

from config.doctor import State, examine
from config.embedded.supervisor import Program, Supervisor
from tests.config.test_supervisor import eventually


def test_a_worker_tells_the_doctor_that_it_is_alive(settings: LazySettings) -> None:
    beats: Path = settings.DATA_DIR / "workers" / "celery@beating"
    beats.unlink(missing_ok=True)
    options = ["--pool=solo", "--hostname=celery@beating", "--without-mingle"]
    command = [sys.executable, "-m", "celery", "-A", "config.celery:app", "worker"]
    with Supervisor() as them:
        them.start(Program(name="worker", command=[*command, *options], restart=False))
        eventually(lambda: beats.exists() or them.pid("worker") is None, seconds=60)
        finding = next(it for it in examine() if it.name == "worker")
        assert (finding.state, finding.detail) == (State.OK, "celery@beating")
        first = beats.stat().st_mtime_ns
        eventually(lambda: beats.stat().st_mtime_ns > first)
    beats.unlink()
