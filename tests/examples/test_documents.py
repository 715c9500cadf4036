"""UBL documents become exact values, or a refusal that names the place."""

from datetime import date
from decimal import Decimal

import pytest

from examples.invoice.documents import (
    DocumentFolder,
    Invoice,
    Line,
    Party,
    read_invoice,
    read_order,
)
from examples.invoice.safe_xml import DocumentRefused
from tests.examples.invoice_documents import altered, source


def test_an_invoice_is_read_whole() -> None:
    invoice = read_invoice(source("INV-1042"))
    assert invoice == Invoice(
        id="INV-1042",
        issued=date(2026, 11, 23),
        due=date(2026, 12, 7),
        currency="EUR",
        order_id="PO-7731",
        supplier=Party(
            id="SUP-0318",
            name="Halden Paper Supply Ltd",
            email="billing@haldenpaper.example",
        ),
        lines=invoice.lines,
        total=Decimal("8550.00"),
        note="",
        digest=invoice.digest,
    )
    assert invoice.lines[1] == Line(
        number=2,
        order_line=2,
        item_id="TN-450",
        description="Toner cartridge TN-450",
        quantity=Decimal(40),
        unit_price=Decimal("93.00"),
        amount=Decimal("3720.00"),
    )


def test_an_order_is_read_whole() -> None:
    order = read_order(source("PO-7731"))
    assert (order.id, order.currency, order.total) == ("PO-7731", "EUR", Decimal(7310))
    assert [line.unit_price for line in order.lines] == [
        Decimal("3.10"),
        Decimal("62.00"),
        Decimal("18.50"),
    ]


def test_the_digest_changes_with_every_byte() -> None:
    original = read_invoice(source("INV-1042"))
    spaced = read_invoice(source("INV-1042") + b"\n")
    assert original.lines == spaced.lines
    assert original.digest != spaced.digest


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("<cbc:ID>INV-1042</cbc:ID>", "", "missing: Invoice/cbc:ID"),
        ("INV-1042", "../INV-1042", "invalid: Invoice/cbc:ID"),
        ("2026-12-07", "2026-02-30", "cbc:DueDate"),
        ("2026-12-07", "20261207", "cbc:DueDate"),
        (">EUR<", ">euro<", "cbc:DocumentCurrencyCode"),
        ('currencyID="EUR"', 'currencyID="NOK"', "ambiguous"),
        (">93.00<", ">93,00<", r"InvoiceLine\[2\].*PriceAmount"),
        (">93.00<", ">9.3e1<", r"InvoiceLine\[2\].*PriceAmount"),
        (">93.00<", ">NaN<", r"InvoiceLine\[2\].*PriceAmount"),
        (">93.00<", ">٩٣<", r"InvoiceLine\[2\].*PriceAmount"),
        (">93.00<", f">{'9' * 5000}<", "invalid"),
        ("billing@haldenpaper.example", "billing@evil\u202eexample", "ElectronicMail"),
        ("Halden Paper Supply Ltd", "x" * 121, "cbc:Name"),
        ("<cbc:LineID>2<", "<cbc:LineID>0<", "cbc:LineID"),
        (
            "<cbc:DueDate>2026-12-07</cbc:DueDate>",
            "<cbc:DueDate>2026-12-07</cbc:DueDate><cbc:DueDate>2027-01-01</cbc:DueDate>",
            "ambiguous: Invoice/cbc:DueDate",
        ),
        (
            "93.00</cbc:PriceAmount>",
            '93.00</cbc:PriceAmount><cbc:BaseQuantity unitCode="H87">10</cbc:BaseQuantity>',
            "BaseQuantity",
        ),
    ],
)
def test_what_cannot_be_relied_on_is_refused(old: str, new: str, place: str) -> None:
    with pytest.raises(DocumentRefused, match=place):
        read_invoice(altered("INV-1042", old, new))


def test_an_invoice_without_lines_is_refused() -> None:
    text = source("INV-1042").decode()
    bare = text[: text.index("<cac:InvoiceLine>")] + "</Invoice>"
    with pytest.raises(DocumentRefused, match="InvoiceLine: 0"):
        read_invoice(bare.encode())


def test_the_malformed_file_is_refused(folder: DocumentFolder) -> None:
    with pytest.raises(DocumentRefused, match="not_xml"):
        folder.invoice("INV-1046")


@pytest.mark.parametrize(
    "name", ["../INV-1042", "INV-1042/..", "/etc/passwd", "", "a" * 41, "INV\x001042"]
)
def test_an_id_cannot_name_another_folder(folder: DocumentFolder, name: str) -> None:
    (folder.path.parent / "INV-1042.xml").write_bytes(source("INV-1042"))
    with pytest.raises(DocumentRefused, match="invalid"):
        folder.invoice(name)


def test_a_missing_file_and_a_wrong_name_are_refused(folder: DocumentFolder) -> None:
    (folder.path / "INV-7.xml").write_bytes(source("INV-1042"))
    with pytest.raises(DocumentRefused, match="not_found"):
        folder.invoice("INV-8")
    with pytest.raises(DocumentRefused, match="wrong_document"):
        folder.invoice("INV-7")


def test_earlier_invoices_are_those_that_can_be_read(folder: DocumentFolder) -> None:
    before = folder.invoices_before(folder.invoice("INV-1047"))
    assert [one.id for one in before] == ["INV-1039", "INV-1042", "INV-1044"]


def test_the_large_pair_has_400_lines_and_is_the_same_every_time(
    folder: DocumentFolder, tmp_path
) -> None:
    order, invoice = folder.order("PO-7800"), folder.invoice("INV-1050")
    assert len(order.lines) == len(invoice.lines) == 400
    again = tmp_path / "again"
    again.mkdir()
    from examples.invoice.large_documents import write_large_documents

    write_large_documents(again)
    assert DocumentFolder(again).invoice("INV-1050").digest == invoice.digest
