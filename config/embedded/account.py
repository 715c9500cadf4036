"""Who runs PostgreSQL: ourselves, or, since it refuses root, an unprivileged account."""

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PREFERRED = ("postgres", "nobody")
"""Accounts to run as when we are root and ``KEYTURN_POSTGRES_USER`` names none."""


@dataclass(frozen=True)
class Account:
    """A user of this machine: ``uid`` and ``gid`` as the kernel counts them."""

    uid: int
    gid: int

    def owns(self, path: Path) -> bool:
        return path.lstat().st_uid == self.uid

    def as_subprocess(self) -> dict[str, Any]:
        """Arguments that make :mod:`subprocess` run a program as this account."""
        if os.geteuid() != 0:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def can_enter(self, folder: Path) -> bool:
        """Say whether the account may search ``folder``, asking the kernel itself."""
        ask = ["/bin/sh", "-c", 'test -x "$0"', str(folder)]
        return subprocess.run(ask, cwd="/", **self.as_subprocess()).returncode == 0

    def make_folder(self, folder: Path) -> None:
        """Make ``folder`` (0700) belong to the account.

        Raises:
            PermissionError: it is there already and is not the account's own folder.
        """
        folder.mkdir(mode=0o700, exist_ok=True)
        if os.geteuid() == 0 and folder.lstat().st_uid == 0:
            os.chown(folder, self.uid, self.gid, follow_symlinks=False)
        if folder.is_symlink() or not folder.is_dir() or not self.owns(folder):
            raise PermissionError(f"{folder} belongs to someone else; remove it")
        folder.chmod(0o700)


def postgres_account() -> Account:
    """Return the account that runs PostgreSQL.

    Raises:
        LookupError: we are root and there is no account to step down to.
    """
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    named = os.environ.get("KEYTURN_POSTGRES_USER")
    for name in (named,) if named else PREFERRED:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return Account(entry.pw_uid, entry.pw_gid)
    raise LookupError(
        "PostgreSQL does not run as root: name an account in KEYTURN_POSTGRES_USER"
    )
