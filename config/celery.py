"""The worker's door: ``celery --app config worker``."""

import os

from celery import Celery, signals
from django.core.exceptions import ImproperlyConfigured

from config.boot import refuse_unsafe_boot

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

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
