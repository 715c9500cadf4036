"""Logging: one line an event, as JSON for machines or coloured for people."""

import sys
from typing import Any

import structlog
from structlog.typing import EventDict, WrappedLogger

_CONTROL = {code: f"\\x{code:02x}" for code in (*range(32), 127, *range(128, 160))}


def escape_control(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Make line breaks and escapes in the message visible.

    A message may repeat what an agent sent; it must not forge a line or drive a
    terminal. (Values are shown by ``repr`` or JSON, which escape them already.)
    """
    event["event"] = str(event.get("event", "")).translate(_CONTROL)
    return event


def quote_exception(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Indent a traceback, whose message may be as hostile, so that it begins no line."""
    if exception := event.pop("exception", None):
        lines = str(exception).split("\n")
        event["exception"] = "\n".join(
            f"  | {line.translate(_CONTROL)}" for line in lines
        )
    return event


def logging_configuration(*, json: bool) -> dict[str, Any]:
    """Configure structlog; return Django's ``LOGGING`` for everything else."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        # A machine wants the moment; a person at the terminal, what the clock shows.
        structlog.processors.TimeStamper(fmt="iso" if json else "%H:%M:%S", utc=json),
        escape_control,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    last: list[structlog.typing.Processor] = [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta
    ]
    if json:
        last += [
            # Never with local variables: they hold passwords and people's words.
            structlog.processors.ExceptionRenderer(
                structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
            ),
            structlog.processors.JSONRenderer(sort_keys=True),
        ]
    else:
        last += [
            structlog.processors.format_exc_info,
            quote_exception,
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
        ]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": shared,
                "processors": last,
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {
            "django": {"level": "INFO", "propagate": True, "handlers": []},
            "django.server": {"level": "INFO", "propagate": True, "handlers": []},
            "django.request": {"level": "ERROR"},  # a 404 is not an event
            "httpx": {"level": "WARNING"},  # nor is a request of our own
            # Nor that a sweep began and ended again: what it did says so itself.
            "celery.beat": {"level": "WARNING"},
            "celery.worker.strategy": {"level": "WARNING"},
            "celery.app.trace": {"level": "WARNING"},
        },
    }
