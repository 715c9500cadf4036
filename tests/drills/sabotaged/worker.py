"""``celery --app tests.drills.sabotaged.worker worker``."""

import os
from importlib import import_module
from typing import Any

import pytest
from celery import signals

from config.celery import app

__all__ = ["app"]


@signals.worker_init.connect
def _sabotage(**_: Any) -> None:
    """Before it has children, and once there are models."""
    sabotages = import_module("tests.drills.sabotages")
    sabotages.SABOTAGES[os.environ["SABOTAGE"]].guard(pytest.MonkeyPatch())
