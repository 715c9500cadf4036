"""Where the embedded cluster keeps its files, and how it comes into being."""

import hashlib
import os
import secrets
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from config.embedded import binaries
from config.embedded.account import Account, postgres_account


@dataclass(frozen=True)
class Cluster:
    """One PostgreSQL data directory (``home``) and the account that it belongs to."""

    home: Path
    account: Account

    @property
    def socket_dir(self) -> Path:
        """A folder whose path is short, since a Unix socket's may have 107 bytes."""
        name = hashlib.sha256(os.fsencode(self.home)).hexdigest()[:16]
        return _short_base() / f"keyturn-{name}"

    @property
    def created(self) -> bool:
        return self.home.is_dir()

    def program(self, name: str) -> str:
        return str(binaries.programs(self.account) / name)


def locate(data_dir: Path) -> Cluster:
    """Find the cluster of ``data_dir``, or say where it is going to be.

    It is ``<data>/postgres``: a folder, or, where PostgreSQL's account cannot enter
    ``data_dir``, a link to a folder that it can.

    Raises:
        FileNotFoundError: the link is there and what it points to is not.
    """
    place = data_dir / "postgres"
    if place.is_symlink() and not place.is_dir():
        raise FileNotFoundError(
            f"the cluster that {place} points to is gone; to begin anew, remove {place}"
        )
    home = place.resolve()
    if home.is_dir():
        found = home.stat()
        return Cluster(home, Account(found.st_uid, found.st_gid))
    return Cluster(home, postgres_account())


def create(cluster: Cluster, *, password: str, durable: bool) -> Cluster:
    """Run ``initdb``; the cluster appears whole or not at all.

    Args:
        password: what its superuser, ``postgres``, signs in with.
        durable: whether to wait until the disk has it.

    Raises:
        RuntimeError: ``initdb`` failed; the message is what it said.
    """
    account = cluster.account
    if account.can_enter(cluster.home.parent):
        _initialise(cluster, password=password, durable=durable)
        return cluster
    binaries.ensure_shared()
    elsewhere = binaries.SHARED / f"cluster-{secrets.token_hex(8)}"
    _initialise(Cluster(elsewhere, account), password=password, durable=durable)
    cluster.home.symlink_to(elsewhere)
    return Cluster(elsewhere, account)


def _initialise(cluster: Cluster, *, password: str, durable: bool) -> None:
    partial = cluster.home.with_name(f"{cluster.home.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    cluster.account.make_folder(partial)
    password_file = partial.with_name(f"{partial.name}.password")
    try:
        _write_for(cluster.account, password_file, password)
        _initdb(cluster, partial, password_file, durable=durable)
    finally:
        password_file.unlink(missing_ok=True)
    partial.rename(cluster.home)


def _write_for(account: Account, file: Path, text: str) -> None:
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        if os.geteuid() == 0:
            os.fchown(descriptor, account.uid, account.gid)
        stream.write(text)


def _initdb(
    cluster: Cluster, folder: Path, password_file: Path, *, durable: bool
) -> None:
    command = [
        cluster.program("initdb"),
        f"--pgdata={folder}",
        "--username=postgres",
        f"--pwfile={password_file}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        # Sorts the same wherever the folder is carried: no C library takes part.
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--locale=C",
        "--no-instructions",
        *([] if durable else ["--no-sync"]),
    ]
    done = subprocess.run(
        command,
        cwd="/",
        env=minimal_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        **cluster.account.as_subprocess(),
    )
    if done.returncode != 0:
        raise RuntimeError(f"initdb failed: {done.stderr.strip()}")


def minimal_environment() -> dict[str, str]:
    """What PostgreSQL's programs may know of ours: no ``PG*`` variable reaches them."""
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


def _short_base() -> Path:
    """Return the same for every process: no variable takes part in it."""
    if os.geteuid() == 0 and os.access("/run", os.W_OK):
        return Path("/run")
    return Path("/tmp")  # noqa: S108 - the folder in it must prove to be ours
