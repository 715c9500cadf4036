"""Which external actions are confirmed, unknown or incomplete?"""

from approvals.checks.matter import Matter
from checkpoints.checks import effects_settled
from kernel.outcome import Outcome


def check_effects(matter: Matter) -> Outcome:
    """Every earlier effect of the run has an outcome that was proved."""
    return effects_settled(matter.run)
