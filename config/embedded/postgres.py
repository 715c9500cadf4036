"""The embedded PostgreSQL server: start, stop, and the databases in it.

It is driven by its own programs, without a wrapper: password roles only, no TCP, one
socket in a 0700 folder. It outlives the command that started it.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import psycopg
from psycopg import sql

from config.embedded import cluster as clusters
from config.embedded.cluster import Cluster
from config.embedded.passwords import read_passwords

BOOTSTRAP = Path(__file__).with_name("bootstrap.sql")

_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "password_encryption": "scram-sha-256",
    "log_timezone": "UTC",
    "timezone": "UTC",
    "jit": "off",
}
_CARELESS = {"fsync": "off", "full_page_writes": "off"}
_PATIENCE = 60.0  # seconds: recovery after a crash can be long
_TICK = 0.02

# The postmaster is our child while we live; Popen must not be collected before it ends.
_started: dict[Path, subprocess.Popen[bytes]] = {}


def start(data_dir: Path, *, durable: bool = True) -> bool:
    """Make sure that the cluster of ``data_dir`` exists, runs and has its roles.

    Return whether it had to be started.

    The caller holds the lock that keeps a second process from doing the same.

    Args:
        durable: False gives up surviving a power cut (never a crash) for speed.

    Raises:
        RuntimeError: it cannot be created or does not start; the message says why.
    """
    passwords = read_passwords(data_dir)
    cluster = clusters.locate(data_dir)
    if not cluster.created:
        password = passwords["postgres"]
        cluster = clusters.create(cluster, password=password, durable=durable)
    started = not _recovers(cluster, data_dir)
    if started:
        _stop(cluster)  # one that runs and cannot be reached is of no use
        _launch(cluster, data_dir, durable=durable)
    if not _answers(cluster, data_dir, "keyturn_app", "keyturn"):
        create_database(data_dir, "keyturn")
    return started


def stop(data_dir: Path) -> bool:
    """Stop the server; sessions are told to leave. Return whether there was one."""
    if not read_passwords(data_dir):
        return False
    cluster = clusters.locate(data_dir)
    was_running = _stop(cluster)
    shutil.rmtree(cluster.socket_dir, ignore_errors=True)
    return was_running


def running(data_dir: Path) -> bool:
    """Say whether the server answers a signed-in administrator."""
    if not read_passwords(data_dir):
        return False
    return _answers(clusters.locate(data_dir), data_dir, "postgres", "postgres")


def url(data_dir: Path, role: str, database: str = "keyturn") -> str:
    """Return the connection URL of ``role``; it changes nothing and may point nowhere."""
    socket = str(clusters.locate(data_dir).socket_dir).replace("/", "%2F")
    password = read_passwords(data_dir).get(role, "")
    return f"postgresql://{role}:{password}@/{database}?host={socket}"


def create_database(data_dir: Path, name: str, *, template: str = "template0") -> None:
    """Run ``bootstrap.sql`` for ``name``: roles, database, grants. Idempotent."""
    cluster, passwords = clusters.locate(data_dir), read_passwords(data_dir)
    done = subprocess.run(
        [
            cluster.program("psql"),
            "--no-psqlrc",
            "--quiet",
            f"--file={BOOTSTRAP}",
            f"--set=database={name}",
            f"--set=template={template}",
        ],
        env=clusters.minimal_environment()
        | {
            "PGHOST": str(cluster.socket_dir),
            "PGUSER": "postgres",
            "PGDATABASE": "postgres",
            "PGPASSWORD": passwords["postgres"],
            "KEYTURN_OWNER_PASSWORD": passwords["keyturn_owner"],
            "KEYTURN_APP_PASSWORD": passwords["keyturn_app"],
            "KEYTURN_RELAY_PASSWORD": passwords["keyturn_relay"],
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise RuntimeError(f"bootstrap.sql failed: {done.stderr.strip()}")


def databases(data_dir: Path) -> set[str]:
    """Return the names of all databases."""
    with psycopg.connect(url(data_dir, "postgres", "postgres")) as us:
        return {name for (name,) in us.execute("select datname from pg_database")}


def drop_database(data_dir: Path, name: str) -> None:
    """Drop ``name``, whoever is still connected to it, if it exists."""
    identifier = sql.Identifier(name)
    command = sql.SQL("drop database if exists {} with (force)")
    with psycopg.connect(url(data_dir, "postgres", "postgres"), autocommit=True) as us:
        us.execute(command.format(identifier))


def _recovers(cluster: Cluster, data_dir: Path) -> bool:
    """Say whether the server answers, giving one that is still starting some time."""

    def settled() -> bool:
        answers = _answers(cluster, data_dir, "postgres", "postgres")
        return answers or _postmaster(cluster) is None

    return _wait_for(settled) and _postmaster(cluster) is not None


def _answers(cluster: Cluster, data_dir: Path, role: str, database: str) -> bool:
    # A socket in a folder of someone else's is not ours to give a password to.
    folder = cluster.socket_dir
    if not folder.is_dir() or not cluster.account.owns(folder):
        return False
    try:
        with psycopg.connect(url(data_dir, role, database), connect_timeout=5):
            return True
    except psycopg.OperationalError as error:
        if role == "postgres" and "password authentication failed" in str(error):
            raise RuntimeError(
                f"{cluster.home} was made with other passwords than {data_dir} holds"
            ) from error
        return False


def _launch(cluster: Cluster, data_dir: Path, *, durable: bool) -> None:
    _forget_dead_server(cluster)
    cluster.account.make_folder(cluster.socket_dir)
    with _open_log(data_dir) as log:
        server = _spawn(cluster, log, durable=durable)
    _started[cluster.home] = server

    def settled() -> bool:
        ended = server.poll() is not None
        return ended or _answers(cluster, data_dir, "postgres", "postgres")

    if not _wait_for(settled) or server.poll() is not None:
        raise RuntimeError(f"PostgreSQL did not start:\n{_log_tail(data_dir)}")


def _spawn(
    cluster: Cluster, log: IO[bytes], *, durable: bool
) -> subprocess.Popen[bytes]:
    settings = _SETTINGS | {"unix_socket_directories": str(cluster.socket_dir)}
    if not durable:
        settings |= _CARELESS
    # On the command line and not in a file: root writes nothing into a folder that an
    # unprivileged account could have filled with links.
    return subprocess.Popen(
        [
            cluster.program("postgres"),
            *("-D", str(cluster.home)),
            *(part for pair in settings.items() for part in ("-c", "=".join(pair))),
        ],
        cwd="/",
        env=clusters.minimal_environment(),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,  # a Ctrl-C meant for us must not stop it
        **cluster.account.as_subprocess(),
    )


def _stop(cluster: Cluster) -> bool:
    pid = _postmaster(cluster)
    if pid is None:
        return False
    for how in (signal.SIGINT, signal.SIGQUIT):  # "fast", then "immediate"
        os.kill(pid, how)
        if _wait_for(lambda: _ended(cluster, pid), patience=_PATIENCE / 2):
            return True
    raise RuntimeError(f"PostgreSQL (process {pid}) does not stop")


def _ended(cluster: Cluster, pid: int) -> bool:
    if server := _started.get(cluster.home):
        server.poll()  # a child stays in the process table until someone asks
    return not _is_postgres(cluster, pid)


def _postmaster(cluster: Cluster) -> int | None:
    """Return the process that really is this cluster's server."""
    try:
        pid = int((cluster.home / "postmaster.pid").read_text().split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return None
    return pid if _is_postgres(cluster, pid) else None


def _is_postgres(cluster: Cluster, pid: int) -> bool:
    """Every process of a server works in its cluster's folder: a reused pid does not."""
    proc = Path("/proc")
    if (proc / "self").exists():
        try:
            return (proc / str(pid) / "cwd").readlink() == cluster.home
        except OSError:
            return False
    command = ["ps", "-o", "command=", "-p", str(pid)]
    seen = subprocess.run(command, capture_output=True, text=True).stdout
    return str(cluster.home) in seen


def _forget_dead_server(cluster: Cluster) -> None:
    """Remove the locks a killed server left, once none of its processes remains.

    After a restart of everything the number in them may belong to a process of ours,
    and PostgreSQL would take that for another server.
    """
    proc = Path("/proc")
    if not (proc / "self").exists():
        return  # PostgreSQL's own judgement has to do

    def nobody_left() -> bool:
        pids = [int(entry.name) for entry in proc.iterdir() if entry.name.isdigit()]
        return not any(_is_postgres(cluster, pid) for pid in pids)

    if not _wait_for(nobody_left):
        raise RuntimeError(f"processes of a killed server still use {cluster.home}")
    (cluster.home / "postmaster.pid").unlink(missing_ok=True)
    for lock in cluster.socket_dir.glob(".s.PGSQL.*"):
        lock.unlink()
    if child := _started.pop(cluster.home, None):
        child.wait()


def _wait_for(condition: Callable[[], bool], *, patience: float = _PATIENCE) -> bool:
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_TICK)
    return True


def _log_file(data_dir: Path) -> Path:
    return data_dir / "logs" / "postgres.log"


def _open_log(data_dir: Path) -> IO[bytes]:
    """Begin a new log, keeping the one before it."""
    file = _log_file(data_dir)
    file.parent.mkdir(mode=0o700, exist_ok=True)
    if file.exists():
        file.rename(file.with_suffix(".previous.log"))
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    return os.fdopen(descriptor, "ab")


def _log_tail(data_dir: Path) -> str:
    return "\n".join(_log_file(data_dir).read_text(errors="replace").splitlines()[-15:])
