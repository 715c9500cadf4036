"""The embedded services survive what machines and people do to them."""

import json
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from config import embedded
from config.embedded import binaries, cluster, postgres

# The programs of an account that is not ours start here: it must be able to import
# everything before it steps down, since the interpreter itself may be out of its reach.
AS_SOMEBODY = """
import json, os, sys
from pathlib import Path
import psycopg
from config import embedded
_, data_dir, uid, gid = sys.argv
os.setgroups([])
os.setgid(int(gid))
os.setuid(int(uid))
services = embedded.ensure(Path(data_dir), durable=False)
with psycopg.connect(services.app_url) as connection:
    (role,) = connection.execute("select current_user").fetchone()
print(json.dumps({"role": role, "started": services.started}))
print(json.dumps(embedded.stop(Path(data_dir))))
"""

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs to be root")


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder below /tmp that every account may enter."""
    folder = Path(tempfile.mkdtemp(prefix="keyturn test "))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def data_dir(place: Path) -> Iterator[Path]:
    """A data folder, with a space in its path, whose services end with the test."""
    folder = place / "a data folder"
    yield folder
    discard(folder)


def discard(data_dir: Path) -> None:
    embedded.stop(data_dir)
    home = (data_dir / "postgres").resolve()
    if home.parent == binaries.SHARED:
        shutil.rmtree(home)


def ask(url: str, query: str = "select current_user") -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(query).fetchone()
        assert row is not None
        return row[0]


def postmaster(data_dir: Path) -> int:
    pid_file = data_dir / "postgres" / "postmaster.pid"
    return int(pid_file.read_text().split("\n", 1)[0])


def processes_of(data_dir: Path) -> list[int]:
    """Return every process that works in the cluster's folder, as all of them do."""
    home, found = (data_dir / "postgres").resolve(), []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "cwd").readlink() == home:
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def test_three_roles_and_nothing_else_can_connect(data_dir: Path) -> None:
    services = embedded.ensure(data_dir, durable=False)
    assert services.started
    assert ask(services.app_url) == "keyturn_app"
    assert ask(services.owner_url) == "keyturn_owner"
    assert ask(services.relay_url) == "keyturn_relay"
    with pytest.raises(psycopg.OperationalError, match="password"):
        ask(services.app_url.replace("keyturn_app:", "keyturn_app:not-"))
    with pytest.raises(psycopg.OperationalError, match="password"):
        ask(services.app_url.replace("keyturn_app:", "postgres:"))
    assert ask(services.app_url, "show listen_addresses") == ""
    assert ask(services.app_url, "show server_encoding") == "UTF8"


def test_roles_are_as_small_as_promised(data_dir: Path) -> None:
    services = embedded.ensure(data_dir, durable=False)
    with psycopg.connect(services.app_url) as connection:
        roles = connection.execute(
            "select rolname, rolcanlogin, rolsuper or rolbypassrls or rolcreaterole"
            " or rolcreatedb or rolreplication from pg_roles"
            " where rolname like 'keyturn%' order by 1"
        ).fetchall()
        members = connection.execute(
            "select roleid::regrole::text, member::regrole::text, inherit_option,"
            " set_option, admin_option from pg_auth_members"
            " where member::regrole::text like 'keyturn%' order by 1"
        ).fetchall()
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("create temporary table pg_temp_trap ()")
    assert roles == [
        ("keyturn_app", True, False),
        ("keyturn_ledger", False, False),
        ("keyturn_lookup", False, False),
        ("keyturn_owner", True, False),
        ("keyturn_relay", True, False),
    ]
    assert members == [
        ("keyturn_ledger", "keyturn_owner", False, True, False),
        ("keyturn_lookup", "keyturn_owner", False, True, False),
    ]


def test_secrets_and_sockets_are_for_the_owner_alone(data_dir: Path) -> None:
    embedded.ensure(data_dir, durable=False)
    keys = data_dir / "keys"
    assert stat.S_IMODE(keys.stat().st_mode) == 0o700
    for file in keys.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    assert stat.S_IMODE(data_dir.stat().st_mode) & 0o066 == 0
    socket_dir = cluster.locate(data_dir).socket_dir
    assert stat.S_IMODE(socket_dir.stat().st_mode) == 0o700
    assert len(os.fsencode(socket_dir / ".s.PGSQL.5432")) < 60
    commands = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True)
    for password in json.loads((keys / "postgres.json").read_text()).values():
        assert password not in commands.stdout
        assert password not in (data_dir / "logs" / "postgres.log").read_text()


def test_twice_in_a_row_and_again_after_a_stop(data_dir: Path) -> None:
    first = embedded.ensure(data_dir, durable=False)
    pid = postmaster(data_dir)
    again = embedded.ensure(data_dir, durable=False)
    assert (first.started, again.started) == (True, False)
    assert postmaster(data_dir) == pid
    assert embedded.stop(data_dir)
    assert not embedded.stop(data_dir)
    assert embedded.status(data_dir) == {"postgres": "stopped"}
    assert processes_of(data_dir) == []
    assert embedded.ensure(data_dir, durable=False).app_url == first.app_url
    assert ask(first.app_url) == "keyturn_app"


def test_two_at_once_start_one_server(data_dir: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from config import embedded;"
        "print(embedded.ensure(Path(sys.argv[1]), durable=False).started)"
    )
    command = [sys.executable, "-c", script, str(data_dir)]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    assert sorted(one.communicate()[0].strip() for one in both) == ["False", "True"]


def test_what_was_committed_outlives_a_kill_of_everything(data_dir: Path) -> None:
    services = embedded.ensure(data_dir, durable=False)
    with psycopg.connect(services.owner_url) as connection:
        connection.execute("create table kept as select 1 as here")
    for pid in processes_of(data_dir):
        with suppress(ProcessLookupError):  # a child may end with its postmaster
            os.kill(pid, signal.SIGKILL)
    assert embedded.ensure(data_dir, durable=False).started
    assert ask(services.owner_url, "select here from kept") == 1


def test_a_stale_pid_that_now_belongs_to_another_process(data_dir: Path) -> None:
    services = embedded.ensure(data_dir, durable=False)
    pid_file = data_dir / "postgres" / "postmaster.pid"
    left_behind = pid_file.read_text().split("\n", 1)[1]
    embedded.stop(data_dir)
    bystander = subprocess.Popen(
        ["sleep", "600"], **cluster.locate(data_dir).account.as_subprocess()
    )
    try:
        pid_file.write_text(f"{bystander.pid}\n{left_behind}")
        assert embedded.ensure(data_dir, durable=False).started
        assert ask(services.app_url) == "keyturn_app"
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_an_interrupted_initdb_is_begun_again(data_dir: Path) -> None:
    embedded.prepare(data_dir)
    (data_dir / "postgres.partial").mkdir()
    (data_dir / "postgres.partial" / "PG_VERSION").write_text("1")
    assert ask(embedded.ensure(data_dir, durable=False).app_url) == "keyturn_app"
    assert not (data_dir / "postgres.partial").exists()


def test_lost_passwords_are_said_to_be_lost(data_dir: Path) -> None:
    embedded.ensure(data_dir, durable=False)
    embedded.stop(data_dir)
    passwords = data_dir / "keys" / "postgres.json"
    kept = passwords.read_text()
    passwords.unlink()
    with pytest.raises(RuntimeError, match="other passwords"):
        embedded.ensure(data_dir, durable=False)
    passwords.write_text(kept)


def test_a_socket_folder_of_somebody_else_is_not_trusted(data_dir: Path) -> None:
    """Whoever takes the predictable name first must not be given our passwords."""
    embedded.ensure(data_dir, durable=False)
    embedded.stop(data_dir)
    folder = cluster.locate(data_dir).socket_dir
    folder.symlink_to("/tmp", target_is_directory=True)
    try:
        with pytest.raises(PermissionError, match="belongs to someone else"):
            embedded.ensure(data_dir, durable=False)
    finally:
        folder.unlink()


def test_describing_settings_starts_and_writes_nothing(place: Path) -> None:
    services = embedded.describe(place / "never made")
    assert services.app_url.startswith("postgresql://keyturn_app:@/keyturn?host=")
    assert list(place.iterdir()) == []
    assert embedded.status(place / "never made") == {"postgres": "stopped"}
    assert not embedded.stop(place / "never made")


@root_only
def test_an_ordinary_user_runs_all_of_it_as_itself(place: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    home = place / "home of nobody"
    home.mkdir()
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    data_dir = home / "var"
    ids = [str(nobody.pw_uid), str(nobody.pw_gid)]
    done = subprocess.run(
        [sys.executable, "-c", AS_SOMEBODY, str(data_dir), *ids],
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == [
        '{"role": "keyturn_app", "started": true}',
        "true",
    ], done.stderr
    assert stat.S_IMODE(data_dir.stat().st_mode) == 0o700
    for path in [data_dir, *data_dir.rglob("*")]:
        assert path.lstat().st_uid == nobody.pw_uid, path


@root_only
def test_root_steps_down_and_opens_no_folder(place: Path) -> None:
    """Below a 0700 folder the account can neither reach its cluster nor be let in."""
    hidden = place / "only for root"
    hidden.mkdir(mode=0o700)
    data_dir = hidden / "var"
    try:
        services = embedded.ensure(data_dir, durable=False)
        assert ask(services.app_url) == "keyturn_app"
        assert stat.S_IMODE(hidden.stat().st_mode) == 0o700
        home = (data_dir / "postgres").readlink()
        assert home.parent == binaries.SHARED
        owner = Path(f"/proc/{postmaster(data_dir)}").stat().st_uid
        assert owner == home.stat().st_uid != 0
        # Moving the folder takes the cluster along.
        embedded.stop(data_dir)
        moved = data_dir.rename(hidden / "moved")
        assert ask(embedded.ensure(moved, durable=False).app_url) == "keyturn_app"
    finally:
        for folder in hidden.iterdir():
            discard(folder)


@root_only
def test_root_gives_the_account_programs_that_it_can_run(
    data_dir: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an environment below /root."""
    hidden = place / "environment"
    hidden.mkdir(mode=0o700)
    site = binaries._site_packages()
    for part in binaries._PARTS:
        (hidden / part).parent.mkdir(exist_ok=True)
        (hidden / part).symlink_to(site / part)
    shared = place / "shared"
    monkeypatch.setattr(binaries, "_site_packages", lambda: hidden)
    monkeypatch.setattr(binaries, "SHARED", shared)
    assert ask(embedded.ensure(data_dir, durable=False).app_url) == "keyturn_app"
    (copy,) = shared.iterdir()
    program = Path(f"/proc/{postmaster(data_dir)}/exe").readlink()
    assert program.is_relative_to(copy)
    for path in [shared, *shared.rglob("*")]:
        found = path.stat()
        assert found.st_uid == 0, path
        assert not found.st_mode & 0o022, path


def test_bootstrap_is_safe_to_run_again(data_dir: Path) -> None:
    services = embedded.ensure(data_dir, durable=False)
    postgres.create_database(data_dir, "keyturn")
    postgres.create_database(data_dir, "another", template="keyturn")
    assert {"keyturn", "another"} <= postgres.databases(data_dir)
    assert ask(services.app_url.replace("/keyturn?", "/another?")) == "keyturn_app"
    postgres.drop_database(data_dir, "another")
    assert "another" not in postgres.databases(data_dir)
