from checkpoints.models.checkpoint import Checkpoint
from checkpoints.models.effect import Attempt, Effect
from checkpoints.models.restore import Fork, RestoreReport
from checkpoints.models.secret import SecretName
from checkpoints.models.tool import Risk, Tool

__all__ = [
    "Attempt",
    "Checkpoint",
    "Effect",
    "Fork",
    "RestoreReport",
    "Risk",
    "SecretName",
    "Tool",
]
