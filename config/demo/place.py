"""Where one demo lives, and who it is to the processes that it starts.

Nothing here needs Django: it is settled before settings are read, so that this command
and its children read the same ones.
"""

import argparse
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from config import embedded, env
from config.demo.processes import is_alive
from config.demo.record import read_record

DEFAULT_PORT: Final = 8000
# The company system that its agents act on is on this machine too.
_LOOPBACK: Final = "127.0.0.0/8,::1/128"


class CannotStart(Exception):
    """Why there will be no demo, and what to do about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The folder of one demo, and the port of its web server."""

    data_dir: Path
    port: int

    @property
    def folder(self) -> Path:
        """What only the demo keeps: locks, keys of its agents, the company's records."""
        return self.data_dir / "demo"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that say where."""
    parser.add_argument(
        "--port",
        type=int,
        default=DEFAULT_PORT,
        help=f"of the web server; 0 for any free one (default: {DEFAULT_PORT})",
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        help="where everything is kept (default: $KEYTURN_DATA_DIR, or var/)",
    )
    parser.add_argument(
        "--no-seed",
        action="store_true",
        help="no people and no requests: begin in the browser",
    )
    parser.add_argument(
        "--once",
        action="store_true",
        help="play one approval from pause to proof, without a browser, and end",
    )
    parser.add_argument(
        "--json", action="store_true", help="with --once: print the last line alone"
    )


def settle(arguments: Sequence[str]) -> None:
    """Find the place and put what follows from it into the environment.

    Raises:
        CannotStart: the port is taken, a demo runs there already, or a database of
            somebody else's is configured.
    """
    parser = argparse.ArgumentParser(add_help=False)
    add_options(parser)
    options, _ = parser.parse_known_args(list(arguments))
    if {"-h", "--help"} & set(arguments):
        return
    if env.text("DATABASE_URL") and not options.no_seed:
        raise CannotStart(
            "DATABASE_URL is set, and the demo puts invented people into no database"
            " but its own. Unset it, or start with --no-seed."
        )
    place = _place(options)
    place.folder.mkdir(mode=0o700, exist_ok=True)
    os.environ["KEYTURN_DATA_DIR"] = str(place.data_dir)
    os.environ["KEYTURN_DEMO_PORT"] = str(place.port)
    os.environ["KEYTURN_BASE_URL"] = place.url
    os.environ["KEYTURN_ALLOW_PRIVATE"] = _LOOPBACK
    os.environ.setdefault("KEYTURN_LOGS", "console")


def settled() -> Place:
    """The place that `settle` found."""
    return Place(
        data_dir=env.data_dir(), port=env.number("KEYTURN_DEMO_PORT", DEFAULT_PORT)
    )


def _place(options: argparse.Namespace) -> Place:
    data_dir = embedded.prepare((options.data_dir or env.data_dir()).expanduser())
    if is_alive(data_dir / "demo"):
        record = read_record(data_dir)
        url = record.url if record else "an unknown address"
        if not options.once or record is None:
            raise CannotStart(f"A demo of {data_dir} runs already, at {url}")
        return Place(data_dir=data_dir, port=urlsplit(url).port or DEFAULT_PORT)
    return Place(data_dir=data_dir, port=_free(options.port))


def _free(port: int) -> int:
    """The port, or any free one for 0."""
    try:
        return probe(port)
    except OSError as error:
        raise CannotStart(
            f"Port {port} of this machine is taken. Try another one:"
            f' make demo ARGS="--port {port + 1}", or --port 0 for any.'
        ) from error


def probe(port: int) -> int:
    """Bind the port for a moment. Raises OSError when somebody listens on it."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        number: int = listener.getsockname()[1]
        return number
