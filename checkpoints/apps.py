from importlib import import_module

from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from checkpoints.upgrades import LadderBroken


class CheckpointsConfig(AppConfig):
    name = "checkpoints"
    label = "checkpoints"

    def ready(self) -> None:
        """Register the upgrade steps, or do not start."""
        for module in settings.UPGRADES:
            try:
                import_module(module)
            except (ImportError, LadderBroken) as error:
                raise ImproperlyConfigured(f"KEYTURN_UPGRADES: {error}") from error
