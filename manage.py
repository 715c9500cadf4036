#!/usr/bin/env python3
"""Keyturn's commands: ``uv run manage.py help``."""

import os
import sys

from django.core.management import execute_from_command_line

from config import embedded, env
from config.demo.place import CannotStart, settle

# What works without a database; `demo` and `services` start it in their own way.
_BARE = {
    *("", "-h", "--help", "help", "version", "--version", "check", "makemigrations"),
    *("collectstatic", "diffsettings", "spectacular", "demo", "services", "drill"),
}

# Of `policy`, what looks at a file alone.
_BARE_POLICY = {"test", "lint"}


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    if command == "demo":
        _settle_demo()
    if _needs_services(command) and not env.text("DATABASE_URL"):
        _start_services()
    execute_from_command_line(sys.argv)


def _needs_services(command: str) -> bool:
    if command == "policy":
        of_file = bool(_BARE_POLICY.intersection(sys.argv[2:3]))
        return not of_file or "--tenant" in sys.argv
    return command not in _BARE


def _settle_demo() -> None:
    try:
        settle(sys.argv[2:])
    except (CannotStart, OSError) as error:
        sys.exit(f"keyturn: {error}")


def _start_services() -> None:
    try:
        services = embedded.ensure(env.data_dir())
    except (RuntimeError, OSError, LookupError, ModuleNotFoundError) as error:
        sys.exit(f"keyturn: {error}")
    if services.started:
        sys.stderr.write("keyturn: PostgreSQL runs until `manage.py services stop`\n")


if __name__ == "__main__":
    main()
