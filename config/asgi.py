"""The asynchronous door: ``uvicorn config.asgi:application``."""

import os
from typing import cast

import django

from config.bodies import Application, bounded
from config.boot import refuse_unsafe_boot
from config.waiting import Handler
from config.warm import warm

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

refuse_unsafe_boot()
django.setup(set_prefix=False)
application = bounded(cast(Application, Handler()))
warm()
