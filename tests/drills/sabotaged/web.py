"""``uvicorn tests.drills.sabotaged.web:application``."""

import os

import pytest

from config.asgi import application
from tests.drills.sabotages import SABOTAGES

__all__ = ["application"]

SABOTAGES[os.environ["SABOTAGE"]].guard(pytest.MonkeyPatch())
