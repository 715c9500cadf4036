"""The page of insights over a thousand requests and over a million, of 90 days."""

from typing import TYPE_CHECKING, Any, Final

from benchmarks.measure import Figure, in_turns

if TYPE_CHECKING:
    from tests.approvals.stage import Stage

SIZES: Final = (1_000, 1_000_000)
DAYS: Final = 90
# Ended between a second and a day after they were asked, on days long settled.
LIKE_ONE: Final = """
  INSERT INTO approvals_request ({columns})
  SELECT {values} FROM approvals_request r, generate_series(1, %(size)s) n
   CROSS JOIN LATERAL (SELECT clock_timestamp() - interval '1 day'
     * (3 + (n %% {days})) AS at) t
   WHERE r.id = %(id)s
"""


def insights(stages: "list[Stage]", count: int) -> list[Figure]:
    """One tenant for each of `SIZES`, whose days were counted."""
    for stage, size in zip(stages, SIZES, strict=True):
        _fill(stage, size)
        _keep(stage)
    looks = {
        f"insights of {size:,}": _look(stage)
        for stage, size in zip(stages, SIZES, strict=True)
    }
    return in_turns(looks, count=count)


def _look(stage: "Stage") -> Any:
    from tests.approvals.views.browsing import reader

    browser = reader(stage, stage.house.alice)

    def look(_: int) -> None:
        assert browser.get("insights?days=90").status_code == 200

    return look


def _keep(stage: "Stage") -> None:
    from oversight.services.tallying import tally_tenant

    while tally_tenant(stage.tenant_id):
        pass


def _fill(stage: "Stage", size: int) -> None:
    from approvals.models import Request
    from tests.approvals.superuser import superuser

    first = stage.ask()
    changed = {
        "id": "gen_random_uuid()",
        "tool_call_id": "NULL",
        "state": "'consumed'",
        "due_at": "NULL",
        "taken_by_id": "NULL",
        "taken_until": "NULL",
        "created_at": "t.at",
        "decided_at": "t.at + interval '1 second' * exp(11 * random())",
    }
    columns = [field.column for field in Request._meta.concrete_fields]
    values = [changed.get(name, f"r.{name}") for name in columns]
    statement = LIKE_ONE.format(
        columns=", ".join(columns), values=", ".join(values), days=DAYS
    )
    with superuser() as root:
        root.execute(statement, {"size": size, "id": first.id})
        root.execute("ANALYZE approvals_request")
