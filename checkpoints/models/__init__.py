from checkpoints.models.checkpoint import Checkpoint
from checkpoints.models.effect import Attempt, Effect
from checkpoints.models.tool import Risk, Tool

__all__ = ["Attempt", "Checkpoint", "Effect", "Risk", "Tool"]
