from importlib import import_module

from django.apps import AppConfig


class HouseConfig(AppConfig):
    name = "config"
    label = "keyturn_config"

    def ready(self) -> None:
        # Tasks belong to the app that exists when they are called, in servers too. (Not
        # in config/__init__: what starts services must not load settings.)
        import_module("config.celery")
