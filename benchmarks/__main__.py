"""`make bench`: what one approval costs, beside the floor of the same machine.

The floor is one durable row, inserted and committed over one connection: what
PostgreSQL itself takes here and now. Everything else is printed as a multiple of it;
trying a policy on many requests, as a multiple of reading them; insights of a million
requests, as a multiple of those of a thousand; the next case after a decision, of another
page in the same browser.
"""

import argparse
import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import httpx
import psycopg
from rich.console import Console
from rich.table import Table

from benchmarks.audit import audit_log, exported
from benchmarks.insights import SIZES, insights
from benchmarks.installation import Doors, running
from benchmarks.measure import Figure, measured
from benchmarks.onward import onward
from benchmarks.simulator import simulator

if TYPE_CHECKING:
    from tests.approvals.stage import Stage

# A table of ours that the app role may write to, and that is swept of old rows.
ONE_ROW = "INSERT INTO django_session VALUES (%s, '', now())"
ARGUMENTS = {"payee": "Halden Paper Supply", "amount": "1240.00"}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=100, help="calls of each kind")
    options.add_argument("--only", choices=PARTS, action="append", help="these parts")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    told = options.parse_args()
    with running() as doors:
        for part in told.only or PARTS:
            PARTS[part](doors, told.count)


def show_approval(doors: Doors, count: int) -> None:
    show([floor(count), *approval(doors, count), waking(doors, count // 4)])


def show_onward(doors: Doors, count: int) -> None:
    show(onward(doors, fresh_tenant(), max(count // 5, 10)))


def show_simulator(doors: Doors, count: int) -> None:
    show(simulator(fresh_tenant(), max(count // 10, 3)))


def show_insights(doors: Doors, count: int) -> None:
    show(insights([fresh_tenant() for _ in SIZES], max(count // 10, 3)))


def show_audit(doors: Doors, count: int) -> None:
    logged = [fresh_tenant() for _ in SIZES]
    for figures in audit_log(logged, count):
        show(figures)
    for name, most in exported(logged).items():
        Console().print(f"{name}: at most {most / 1024:,.0f} KiB held")


PARTS: Final[dict[str, Callable[[Doors, int], None]]] = {
    "approval": show_approval,
    "onward": show_onward,
    "simulator": show_simulator,
    "insights": show_insights,
    "audit": show_audit,
}


def fresh_tenant() -> "Stage":
    """One with no requests but those that are made for it."""
    from tests.approvals.stage import fresh_stage

    return fresh_stage()


def floor(count: int) -> Figure:
    """One row, one commit."""
    from django.db import connection

    with psycopg.connect(**_direct(connection.get_connection_params())) as raw:

        def one_row(_: int) -> None:
            raw.execute(ONE_ROW, [secrets.token_hex(16)])
            raw.commit()

        return measured("floor: insert and commit", one_row, count=count)


def _direct(params: dict[str, Any]) -> dict[str, Any]:
    kept = ("dbname", "user", "password", "host", "port")
    return {name: params[name] for name in kept if params.get(name)}


def approval(doors: Doors, count: int) -> list[Figure]:
    """Create, decide and redeem over HTTP, one client after another request."""
    agent, reviewer = doors.agent(), doors.reviewer()
    made: deque[dict[str, Any]] = deque()

    def create(_: int) -> None:
        made.append(
            checked(
                agent.post("/approvals", json={"tool": "pay", "arguments": ARGUMENTS})
            )
        )

    def decide(_: int) -> None:
        asked = made[0]
        made.rotate(-1)
        answer = {"verdict": "approve", "digest": asked["digest"]}
        checked(reviewer.post(f"/approvals/{asked['id']}/decisions", json=answer))

    def redeem(_: int) -> None:
        asked = made.popleft()
        fence = {"Keyturn-Fence": str(asked["fence"])}
        checked(agent.post(f"/approvals/{asked['id']}/redeem", headers=fence))

    return [
        measured("create", create, count=count),
        measured("decide", decide, count=count),
        measured("redeem (four checks)", redeem, count=count),
    ]


def waking(doors: Doors, count: int) -> Figure:
    """From the decision's answer to the end of the agent's wait for it."""
    agent, reviewer = doors.agent(), doors.reviewer()
    times: list[float] = []
    for _ in range(max(count, 2)):
        asked = checked(
            agent.post("/approvals", json={"tool": "pay", "arguments": ARGUMENTS})
        )
        woken: list[float] = []
        waiter = threading.Thread(target=_wait, args=(doors, asked["id"], woken))
        waiter.start()
        time.sleep(0.1)  # so that it waits; the figure starts later
        answer = {"verdict": "approve", "digest": asked["digest"]}
        checked(reviewer.post(f"/approvals/{asked['id']}/decisions", json=answer))
        decided = time.perf_counter()
        waiter.join()
        times.append(max(woken[0] - decided, 0) * 1000)
    return Figure(name="decided → wait returns", times=tuple(times), rate=0)


def _wait(doors: Doors, request: str, woken: list[float]) -> None:
    with doors.agent() as agent:
        checked(agent.get(f"/approvals/{request}?wait=30&until=decided", timeout=40))
    woken.append(time.perf_counter())


def checked(response: httpx.Response) -> dict[str, Any]:
    if response.is_error:
        raise RuntimeError(f"{response.status_code}: {response.text}")
    document: dict[str, Any] = response.json()
    return document


def show(figures: list[Figure]) -> None:
    if not figures:
        return
    table = Table("", "p50 ms", "p95 ms", "p99 ms", "per s", "x first")
    for one in figures:
        rate = f"{one.rate:,.0f}" if one.rate else ""
        ratio = f"{one.median / figures[0].median:.1f}"
        times = (f"{n:.2f}" for n in (one.median, one.p95, one.p99))
        table.add_row(one.name, *times, rate, ratio)
    Console().print(table)


if __name__ == "__main__":
    main()
