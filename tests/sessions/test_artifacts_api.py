"""Files of sessions over HTTP: sent raw, fetched as attachments, never shown."""

from hashlib import sha256
from typing import Any

import pytest
from django.test import Client

from sessions.models import Session
from tests.factories import House, unique

PDF = b"%PDF-1.7\nthe invoice"
DIGEST = sha256(PDF).hexdigest()


@pytest.fixture
def client(house: House) -> Client:
    return house.robot.client()


@pytest.fixture
def place(session: Session) -> str:
    return f"/api/v1/sessions/{session.id}/artifacts"


def put(
    client: Client,
    place: str,
    body: bytes = PDF,
    kind: str = "application/pdf",
    **headers: str,
) -> Any:
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.post(place, body, content_type=kind, headers=told)


def code(answer: Any) -> tuple[int, str]:
    assert answer["Content-Type"] == "application/problem+json", answer.content
    return answer.status_code, answer.json()["code"]


def test_a_file_is_put_once_and_found_by_its_digest(client: Client, place: str) -> None:
    named = "attachment; filename*=UTF-8''Rechnung%20%C3%BC.pdf"
    first = put(client, place, Content_Disposition=named, Keyturn_Expires_In="60")
    again = put(client, place)
    assert (first.status_code, again.status_code) == (201, 200)
    told = first.json()
    assert told["sha256"] == DIGEST
    assert told["name"] == "Rechnung ü.pdf"
    assert (told["type"], told["size"]) == ("application/pdf", len(PDF))
    kept = again.json()
    assert kept.pop("expires_at") > told.pop("expires_at")
    assert kept == told
    assert client.get(f"{place}/{DIGEST}").json()["sha256"] == DIGEST
    assert [one["sha256"] for one in client.get(place).json()["items"]] == [DIGEST]


def test_content_is_an_attachment_that_no_browser_runs(
    client: Client, place: str
) -> None:
    page = b"<script>alert(1)</script>"
    named = 'attachment; filename="page.html"'
    digest = put(client, place, page, "text/plain", Content_Disposition=named).json()[
        "sha256"
    ]
    answer = client.get(f"{place}/{digest}/content")
    assert answer.content == page
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["Content-Disposition"] == 'attachment; filename="page.html.txt"'
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert answer["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "kind",
    ["text/html", "image/svg+xml", "application/octet-stream", "", "*/*", "text/*"],
)
def test_a_type_that_is_not_on_the_list_is_refused(
    kind: str, client: Client, place: str
) -> None:
    for body in (b"<svg/>", b""):
        answer = put(client, place, body, kind)
        assert code(answer) == (415, "unsupported_media_type")


def test_another_type_than_it_says_is_refused(client: Client, place: str) -> None:
    sent = [("image/png", PDF), ("text/plain", b"MZ\x00"), ("text/csv", b"\xff")]
    for kind, body in sent:
        assert code(put(client, place, body, kind)) == (422, "artifact_type_mismatch")
    assert client.get(place).json()["items"] == []


def test_it_has_so_many_bytes_at_most(
    client: Client, place: str, settings: Any
) -> None:
    settings.ARTIFACT_LIMIT = 30
    assert put(client, place, PDF.ljust(30)).status_code == 201
    assert code(put(client, place, PDF.ljust(31))) == (413, "body_too_large")


@pytest.mark.parametrize("seconds", ["0", "-1", "1.5", "x", "", "9" * 9, "+1", "1e3"])
def test_an_end_is_a_number_of_seconds(
    seconds: str, client: Client, place: str
) -> None:
    answer = put(client, place, Keyturn_Expires_In=seconds)
    assert code(answer) == (400, "header_malformed")


@pytest.mark.parametrize(
    "named",
    [
        "filename*=nope''a.pdf",
        "filename*=zlib''a.pdf",
        "filename*=unicode_escape''%5Cud800",
        "filename*=unicode_escape''%5Cx00",
        "filename*=idna''%ff",
        "filename*=UTF-8''a%00b",
    ],
)
def test_a_name_is_text_that_can_be_kept(
    named: str, client: Client, place: str
) -> None:
    answer = put(client, place, Content_Disposition=f"attachment; {named}")
    assert code(answer) == (400, "header_malformed")


@pytest.mark.parametrize(
    "named", ["", "attachment", "filename", ";;=", "inline; x*=UTF-8''"]
)
def test_a_file_needs_no_name(named: str, client: Client, place: str) -> None:
    answer = put(client, place, Content_Disposition=named)
    assert (answer.status_code, answer.json()["name"]) == (201, "")


def test_a_name_is_short_and_its_secrets_are_cut_out(
    client: Client, place: str
) -> None:
    long = f'attachment; filename="{"n" * 201}"'
    answer = put(client, place, Content_Disposition=long)
    assert code(answer) == (400, "header_malformed")
    secret = "gh" + "p_" + (unique() * 6)[:36]
    named = f'attachment; filename="{secret}.pdf"'
    told = put(client, place, Content_Disposition=named).json()["name"]
    assert told.startswith("[redacted: GitHub token")
    assert secret not in told


def test_a_file_that_was_taken_away_is_gone(client: Client, place: str) -> None:
    put(client, place)
    answer = client.post(f"{place}/{DIGEST}/remove", {}, "application/json")
    assert (answer.status_code, answer.json()["sha256"]) == (200, DIGEST)
    for gone in (place + f"/{DIGEST}", place + f"/{DIGEST}/content"):
        assert code(client.get(gone)) == (404, "not_found")
    assert put(client, place).status_code == 201


def test_files_are_listed_in_pages(client: Client, place: str) -> None:
    digests = [
        put(client, place, b"%PDF-" + str(n).encode()).json()["sha256"]
        for n in range(5)
    ]
    seen, cursor = [], ""
    while cursor is not None:
        more = {"cursor": cursor} if cursor else {}
        told = client.get(place, {"limit": 2, **more}).json()
        assert len(told["items"]) <= 2
        seen += [one["sha256"] for one in told["items"]]
        cursor = told["next"]
    assert seen == digests[::-1]


@pytest.mark.parametrize(
    "digest", [DIGEST.upper(), DIGEST[:-1], DIGEST + "0", "x" * 64]
)
def test_what_is_no_digest_is_not_there(
    digest: str, client: Client, place: str
) -> None:
    put(client, place)
    assert code(client.get(f"{place}/{digest}")) == (404, "not_found")
