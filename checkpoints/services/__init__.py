"""Every change to checkpoints and tools: one verb each, whichever door it came through."""

from checkpoints.services.checkpoints import read_checkpoint, save_checkpoint
from checkpoints.services.tools import (
    change_tool,
    disable_tool,
    register_tool,
    register_unreviewed,
)

__all__ = [
    "change_tool",
    "disable_tool",
    "read_checkpoint",
    "register_tool",
    "register_unreviewed",
    "save_checkpoint",
]
