"""All incidents, in the order in which they are held."""

from oversight.drills.incident import INCIDENTS
from oversight.drills.incidents import (
    authority,
    broker,
    clocks,
    database,
    deciding,
    effects,
    histories,
    isolation,
    stored,
    webhooks,
    workers,
)

__all__ = [
    "INCIDENTS",
    "authority",
    "broker",
    "clocks",
    "database",
    "deciding",
    "effects",
    "histories",
    "isolation",
    "stored",
    "webhooks",
    "workers",
]
