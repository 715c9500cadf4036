"""The worker's door: ``celery --app config worker``."""

import os
from typing import Any, Final

from celery import Celery, signals
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.boot import refuse_unsafe_boot

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

HEARTBEAT_SECONDS: Final = 5

app = Celery("keyturn")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


def _refuse_unsafe_boot(**_: object) -> None:
    """Celery swallows a receiver's exceptions, but not this one."""
    try:
        refuse_unsafe_boot()
    except ImproperlyConfigured as error:
        raise SystemExit(str(error)) from error


signals.worker_init.connect(_refuse_unsafe_boot)
signals.beat_init.connect(_refuse_unsafe_boot)


def _without_pool(**_: object) -> None:
    """In a child, which works on one task at a time.

    Celery closes a child's whole pool after each task, under the threads that deliver.
    """
    for database in settings.DATABASES.values():
        database.get("OPTIONS", {}).pop("pool", None)


signals.worker_process_init.connect(_without_pool)


def _begin_heartbeat(sender: Any, **_: object) -> None:
    """Touch a file every few seconds, for `doctor` and for a container's liveness."""
    file = settings.DATA_DIR / "workers" / str(sender.hostname)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.touch()
    sender.timer.call_repeatedly(HEARTBEAT_SECONDS, file.touch)


signals.worker_ready.connect(_begin_heartbeat)
