from collections.abc import Iterator
from importlib import import_module

from django.apps import AppConfig
from django.conf import settings

from oversight.examination import Finding, register_examination


class HouseConfig(AppConfig):
    name = "config"
    label = "keyturn_config"

    def ready(self) -> None:
        # Tasks belong to the app that exists when they are called, in servers too. (Not
        # in config/__init__: what starts services must not load settings.)
        import_module("config.celery")
        if settings.SYSTEM_PAGE:
            register_examination(_examine)


def _examine() -> Iterator[Finding]:
    """What `doctor` finds, for the page of the system; loaded when it is asked."""
    for one in import_module("config.doctor").examine():
        yield Finding(name=one.name, state=str(one.state), detail=one.detail)
