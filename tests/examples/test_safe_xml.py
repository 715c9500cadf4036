"""Hostile XML is refused before it can cost anything."""

import time

import pytest

from examples.invoice.documents import read_invoice, read_order
from examples.invoice.safe_xml import MAX_BYTES, MAX_DEPTH, DocumentRefused, parse
from tests.examples.invoice_documents import altered, source

BILLION_LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY l0 "lol">'
    + b"".join(
        b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 10)
    )
    + b"]><Invoice>&l9;</Invoice>"
)
EXTERNAL_ENTITY = (
    b'<?xml version="1.0"?><!DOCTYPE i [<!ENTITY f SYSTEM "file:///etc/passwd">]>'
    b"<Invoice>&f;</Invoice>"
)
EXTERNAL_DTD = b'<!DOCTYPE i SYSTEM "http://127.0.0.1:1/evil.dtd"><Invoice/>'


def refusal(data: bytes) -> str:
    with pytest.raises(DocumentRefused) as refused:
        parse(data)
    return refused.value.code


@pytest.mark.parametrize("data", [BILLION_LAUGHS, EXTERNAL_ENTITY, EXTERNAL_DTD])
def test_a_document_type_declaration_is_refused(data: bytes) -> None:
    before = time.process_time()
    assert refusal(data) == "has_dtd"
    assert time.process_time() - before < 0.5


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-7"])
def test_another_encoding_does_not_smuggle_a_declaration_in(encoding: str) -> None:
    text = BILLION_LAUGHS.decode().replace("?>", f' encoding="{encoding}"?>', 1)
    assert refusal(text.encode(encoding)) in {"not_utf8", "not_xml", "has_dtd"}


def test_a_declared_encoding_does_not_change_how_bytes_are_read() -> None:
    data = '<?xml version="1.0" encoding="iso-8859-1"?><a>ø</a>'.encode()
    assert parse(data).text == "ø"


def test_a_byte_order_mark_is_no_obstacle() -> None:
    assert read_invoice(b"\xef\xbb\xbf" + source("INV-1042")).id == "INV-1042"


def test_depth_is_limited() -> None:
    assert parse(b"<a>" * MAX_DEPTH + b"</a>" * MAX_DEPTH).tag == "a"
    assert refusal(b"<a>" * (MAX_DEPTH + 1) + b"</a>" * (MAX_DEPTH + 1)) == "too_deep"


def test_size_and_number_of_elements_are_limited() -> None:
    assert refusal(b"<a>" + b" " * MAX_BYTES + b"</a>") == "too_large"
    assert refusal(b"<a>" + b"<b/>" * 60_000 + b"</a>") == "too_many_elements"


@pytest.mark.parametrize(
    "data", [b"", b"no xml", b"<a>", b"<a></b>", b"<a/><b/>", b"<a>&undefined;</a>"]
)
def test_what_is_not_well_formed_is_refused(data: bytes) -> None:
    assert refusal(data) == "not_xml"


def test_bytes_that_are_no_text_are_refused() -> None:
    assert refusal(b"<a>\xff</a>") == "not_utf8"


@pytest.mark.parametrize("read", [read_invoice, read_order])
def test_another_kind_of_document_is_refused(read) -> None:
    other = "PO-7731" if read is read_invoice else "INV-1042"
    with pytest.raises(DocumentRefused, match="wrong_document"):
        read(source(other))


def test_an_unknown_version_of_the_namespace_is_refused() -> None:
    with pytest.raises(DocumentRefused, match="wrong_document"):
        read_invoice(altered("INV-1042", "xsd:Invoice-2", "xsd:Invoice-3"))
