"""The programs that make an installation, and how each is started.

They find everything else in their environment. One web process answers requests and
holds the waiting ones; one worker acts; the beat sweeps.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from config.embedded.supervisor import Program

BASE_DIR: Final = Path(__file__).resolve().parents[2]
_ENVIRONMENT: Final = {
    # Wherever we were started from; and nothing is imported from there.
    "PYTHONPATH": str(BASE_DIR),
    "PYTHONSAFEPATH": "1",
    # Celery warns of running as root, and WhiteNoise of having no build step.
    "PYTHONWARNINGS": "ignore:You're running,ignore:No directory at",
}
_THREADS: Final = 4  # what the worker does at once; it mostly waits for others


def web(port: int) -> Program:
    """The server, on this machine's loopback interface alone."""
    return _program(
        "web",
        *("uvicorn", "config.asgi:application"),
        *("--host", "127.0.0.1", "--port", str(port)),
        *("--log-level", "warning", "--no-access-log", "--lifespan", "off"),
        # A waiting agent asks again; it is not waited for.
        *("--timeout-graceful-shutdown", "2"),
    )


def worker() -> Program:
    """What carries approved actions out."""
    return _celery(
        "worker",
        # Threads: they wait for the network, and a killed one leaves no orphans.
        *("--pool", "threads", "--concurrency", str(_THREADS)),
        *("--without-gossip", "--without-mingle", "--without-heartbeat"),
    )


def beat() -> Program:
    """What has sweeps done, every few seconds."""
    return _celery("beat", "--pidfile", "")


def company(port: int, folder: Path) -> Program:
    """The company's own systems, which the agents act on."""
    return _program(
        "company",
        "examples.invoice.correction_system",
        *("--port", str(port), "--data", str(folder)),
    )


def invoice_agent(
    url: str,
    company_url: str,
    key: str,
    *,
    invoices: Sequence[str],
    task: str = "",
    name: str = "agent",
) -> Program:
    """The agent that checks invoices; with `task` only until these have an outcome."""
    program = _program(
        name,
        "examples.invoice.agent",
        *("--url", url, "--correction-url", company_url),
        *("--documents", str(BASE_DIR / "examples" / "invoice" / "documents")),
        *(part for invoice in invoices for part in ("--invoice", invoice)),
        *(("--task", task, "--once") if task else ()),
    )
    # Never an argument: those are for every user of the machine to read.
    told = {**program.environment, "KEYTURN_API_KEY": key}
    return replace(program, environment=told, restart=not task)


def _celery(what: str, *options: str) -> Program:
    common = ("--quiet", "--app", "config", what, "--loglevel", "INFO")
    return _program(what, "celery", *common, *options)


def _program(name: str, module: str, *arguments: str) -> Program:
    command = [sys.executable, "-m", module, *arguments]
    return Program(name=name, command=command, environment=_ENVIRONMENT)
