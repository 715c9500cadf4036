"""Every change to checkpoints and tools: one verb each, whichever door it came through."""

from checkpoints.services.checkpoints import save_checkpoint
from checkpoints.services.forks import fork_run
from checkpoints.services.restores import read_checkpoint, restore_checkpoint
from checkpoints.services.secrets import register_secret, revoke_secret
from checkpoints.services.tools import (
    change_tool,
    disable_tool,
    register_tool,
    register_unreviewed,
)

__all__ = [
    "change_tool",
    "disable_tool",
    "fork_run",
    "read_checkpoint",
    "register_secret",
    "register_tool",
    "register_unreviewed",
    "restore_checkpoint",
    "revoke_secret",
    "save_checkpoint",
]
