"""The committed description of the API is the one that the code gives."""

import io
from pathlib import Path

from django.core.management import call_command
from django.test import Client

COMMITTED = Path(__file__).resolve().parents[2] / "docs" / "openapi.yaml"


def test_the_committed_document_is_what_the_code_says() -> None:
    """After a change: `manage.py spectacular --file docs/openapi.yaml`."""
    told = io.StringIO()
    call_command("spectacular", validate=True, fail_on_warn=True, stdout=told)
    assert told.getvalue().strip() == COMMITTED.read_text().strip()


def test_the_page_that_shows_it_is_served_by_us_alone() -> None:
    page = Client().get("/api/v1/docs")
    assert page.status_code == 200
    assert "http" not in page.content.decode().replace("http://testserver", "")
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert Client().get("/api/v1/schema").status_code == 200
