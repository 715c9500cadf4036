"""Times of zones that the database does not take."""

from urllib.parse import quote
from uuid import uuid4

import pytest
from django.db.models import Q

from approvals.pages import decided, webhooks
from oversight.pages import runs
from tests.approvals.stage import fresh_stage
from tests.approvals.views.browsing import reader

FAR = "2026-11-30T07:30:00+23:59"


def test_a_time_that_was_typed_is_one_in_any_zone() -> None:
    stage = fresh_stage()
    request, alice = stage.ask(), reader(stage, stage.house.alice)
    for page in (f"runs/{request.run_id}/state", f"requests/{request.id}/rights"):
        assert (
            alice.get(f"{page}?at={quote(FAR)}").status_code == 422
        )  # before it began
        later = FAR.replace("2026", "2999")
        assert alice.get(f"{page}?at={quote(later)}").status_code in (200, 422)


@pytest.mark.parametrize("read", [runs.older_than, decided._before, webhooks._older])
def test_a_cursor_of_another_zone_is_none_of_ours(read: object) -> None:
    assert callable(read)
    assert read(f"{FAR} {uuid4()}") == Q()
