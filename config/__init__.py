"""The house: settings, doors' addresses, boot checks and embedded services."""

# Whoever loads the settings publishes to their broker: tasks are bound to this app.
from config.celery import app as celery_app

__all__ = ["celery_app"]
