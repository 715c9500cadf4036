"""Static files as an installation without a build step sends them."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient

STATIC = Path(__file__).resolve().parents[2] / "static"
STYLE = "css/base.css"


def fetched(path: str, **headers: str) -> Any:
    return async_to_sync(AsyncClient().get)(f"/static/{path}", headers=headers)


def test_a_style_is_sent_small_to_whoever_can_unpack_it() -> None:
    answer = fetched(STYLE, accept_encoding="gzip, br")
    whole = (STATIC / STYLE).read_bytes()
    assert gzip.decompress(answer.content) == whole
    assert int(answer["Content-Length"]) == len(answer.content) < len(whole)
    assert "Accept-Encoding" in answer["Vary"]


def test_whoever_cannot_gets_it_as_it_is() -> None:
    answer = fetched(STYLE)
    assert answer.content == (STATIC / STYLE).read_bytes()
    assert not answer.has_header("Content-Encoding")


def test_what_the_browser_has_is_not_sent_again() -> None:
    since = fetched(STYLE, accept_encoding="gzip")["Last-Modified"]
    again = fetched(STYLE, accept_encoding="gzip", if_modified_since=since)
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("path", ["css/none.css", "../manage.py"])
def test_what_is_not_there_is_not_found(path: str) -> None:
    assert fetched(path).status_code == 404
