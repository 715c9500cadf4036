"""The table of docs/errors.md, printed anew: `python -m tests.docs.problem_table`.

A process of its own, since tests declare codes that no installation has.
"""

import os
from importlib import import_module
from pkgutil import walk_packages

import django

from kernel.problems import declared

APPS = (
    "kernel",
    "audit",
    "tenants",
    "sessions",
    "checkpoints",
    "approvals",
    "oversight",
)


def rows() -> list[str]:
    """One Markdown row for each code that anything declares."""
    for app in APPS:
        _import_all(app)
    return [f"| `{kind.code}` | {kind.status} | {kind.title} |" for kind in declared()]


def _import_all(app: str) -> None:
    package = import_module(app)
    for module in walk_packages(package.__path__, prefix=f"{app}."):
        if ".migrations" not in module.name:
            import_module(module.name)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    print("\n".join(rows()))
