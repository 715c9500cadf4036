"""The worker's door: ``celery --app config worker``."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("keyturn")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
