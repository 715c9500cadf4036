"""What a newcomer reads when the demo runs: where to go, as whom, and what to try."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from rich.console import Console
from rich.text import Text

from config.demo.agent_api import AgentApi, Json
from config.demo.place import Place
from config.demo.record import Record, TenantRecord, record_file
from config.demo.seed.cast import COMPANIES, FJORDLINE, INVOICE_AGENT, MAREN, Company

INVOICE: Final = "INV-1042"


def show_summary(console: Console, place: Place, record: Record | None) -> None:
    """Print it; without colours where nobody would see them."""
    parts = _of_record(place, record) if record else _of_nothing(place)
    console.print()
    for part in parts:
        # Never cut or broken by us: a password has to be copied whole.
        console.print(part, soft_wrap=True)
    console.print()


def _of_nothing(place: Place) -> Iterator[Text]:
    yield _heading(place.url)
    yield Text("\nOpen it to create the first tenant, person and agent.")
    yield Text.assemble("It asks for the setup code: ", (settings.SETUP_CODE, "cyan"))
    yield _end(place)


def _of_record(place: Place, record: Record) -> Iterator[Text]:
    yield _heading(record.url)
    yield from _what_to_do(place, record)
    for company in COMPANIES:
        yield Text(f"\n{company.name}", "bold")
        yield from _people(company, record.tenant(company.slug))
    key = record.tenant(FJORDLINE.slug).api_keys[INVOICE_AGENT]
    yield Text(f"\nFor programs of yours, as {INVOICE_AGENT}", "bold")
    yield Text(f"  export KEYTURN_URL={record.url} KEYTURN_API_KEY={key}", "cyan")
    yield Text(f"\nAll of it is in {_short(record_file(place.data_dir))}.", "dim")
    yield _end(place)


def _heading(url: str) -> Text:
    return Text.assemble(("Keyturn", "bold"), " runs at ", (url, "bold cyan"))


def _what_to_do(place: Place, record: Record) -> Iterator[Text]:
    maren = record.tenant(FJORDLINE.slug).user(MAREN)
    yield Text("\nTry this", "bold")
    yield Text.assemble("  1. Open ", (record.url, "cyan"))
    yield Text.assemble(
        "  2. Sign in as ", (maren.email, "cyan"), " with ", (maren.password, "cyan")
    )
    for number, words in enumerate(what_to_try(_waiting(record), place.data_dir), 3):
        yield Text(f"  {number}. {words}")


def what_to_try(waiting: Iterable[Mapping[str, Any]], folder: Path) -> list[str]:
    """The story's own request while it waits; later any other, and at last anew."""
    asked = list(waiting)
    if not asked:
        return [
            "Look back: nothing waits any more. To begin anew, stop this with Ctrl-C,"
            f" remove {_short(folder)} and start it again"
        ]
    if any(one["arguments"].get("invoice_id") == INVOICE for one in asked):
        return [
            f"Open the correction request for invoice {INVOICE} and approve it",
            "Watch the agent finish: below, and on the page of the case",
        ]
    return [
        "Open any request of the queue, read it, and decide",
        "Watch what comes of it on the page of the case",
    ]


def _waiting(record: Record) -> Iterator[Json]:
    """What any of the agents asks, of which each sees its own."""
    for key in record.tenant(FJORDLINE.slug).api_keys.values():
        yield from AgentApi(record.url, key).list("approvals", status="pending")


def _people(company: Company, known: TenantRecord) -> Iterator[Text]:
    """E-mail address, password, role, and what they are for."""
    widest = max(len(one.email) for one in company.people)
    for one in company.people:
        yield Text.assemble(
            f"  {one.email:<{widest}}  ",
            (f"{known.user(one.email).password}  ", "cyan"),
            f"{one.role.value:<9}  ",
            (one.note, "dim"),
        )


def _end(place: Place) -> Text:
    log = _short(place.data_dir / "logs" / "demo.log")
    return Text(f"Every program's log is in {log}. Ctrl-C stops everything.", "dim")


def _short(file: Path) -> str:
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)
