"""Write an order and an invoice of 400 lines each, the same bytes every time.

`python -m examples.invoice.large_documents FOLDER` writes PO-7800.xml and
INV-1050.xml. One line of the invoice, the 317th, charges too much.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from string import Template

LINES = 400
OVERCHARGED = 317

_ORDER = Template("""<?xml version="1.0" encoding="UTF-8"?>
<Order xmlns="urn:oasis:names:specification:ubl:schema:xsd:Order-2"
       xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"
       xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">
  <cbc:UBLVersionID>2.1</cbc:UBLVersionID>
  <cbc:ID>PO-7800</cbc:ID>
  <cbc:IssueDate>2026-11-02</cbc:IssueDate>
  <cbc:DocumentCurrencyCode>EUR</cbc:DocumentCurrencyCode>
  <cac:BuyerCustomerParty>$buyer</cac:BuyerCustomerParty>
  <cac:SellerSupplierParty>$seller</cac:SellerSupplierParty>
  <cac:AnticipatedMonetaryTotal>
    <cbc:LineExtensionAmount currencyID="EUR">$total</cbc:LineExtensionAmount>
    <cbc:PayableAmount currencyID="EUR">$total</cbc:PayableAmount>
  </cac:AnticipatedMonetaryTotal>
$lines
</Order>
""")

_ORDER_LINE = Template("""  <cac:OrderLine>
    <cac:LineItem>
      <cbc:ID>$number</cbc:ID>
      <cbc:Quantity unitCode="H87">$quantity</cbc:Quantity>
      <cbc:LineExtensionAmount currencyID="EUR">$amount</cbc:LineExtensionAmount>
      <cac:Price><cbc:PriceAmount currencyID="EUR">$price</cbc:PriceAmount></cac:Price>
      <cac:Item>
        <cbc:Name>$name</cbc:Name>
        <cac:SellersItemIdentification><cbc:ID>$item</cbc:ID></cac:SellersItemIdentification>
      </cac:Item>
    </cac:LineItem>
  </cac:OrderLine>""")

_INVOICE = Template("""<?xml version="1.0" encoding="UTF-8"?>
<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"
         xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"
         xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">
  <cbc:UBLVersionID>2.1</cbc:UBLVersionID>
  <cbc:ID>INV-1050</cbc:ID>
  <cbc:IssueDate>2026-11-27</cbc:IssueDate>
  <cbc:DueDate>2026-12-11</cbc:DueDate>
  <cbc:InvoiceTypeCode>380</cbc:InvoiceTypeCode>
  <cbc:DocumentCurrencyCode>EUR</cbc:DocumentCurrencyCode>
  <cac:OrderReference><cbc:ID>PO-7800</cbc:ID></cac:OrderReference>
  <cac:AccountingSupplierParty>$seller</cac:AccountingSupplierParty>
  <cac:AccountingCustomerParty>$buyer</cac:AccountingCustomerParty>
  <cac:TaxTotal><cbc:TaxAmount currencyID="EUR">0.00</cbc:TaxAmount></cac:TaxTotal>
  <cac:LegalMonetaryTotal>
    <cbc:LineExtensionAmount currencyID="EUR">$total</cbc:LineExtensionAmount>
    <cbc:PayableAmount currencyID="EUR">$total</cbc:PayableAmount>
  </cac:LegalMonetaryTotal>
$lines
</Invoice>
""")

_INVOICE_LINE = Template("""  <cac:InvoiceLine>
    <cbc:ID>$number</cbc:ID>
    <cbc:InvoicedQuantity unitCode="H87">$quantity</cbc:InvoicedQuantity>
    <cbc:LineExtensionAmount currencyID="EUR">$amount</cbc:LineExtensionAmount>
    <cac:OrderLineReference><cbc:LineID>$number</cbc:LineID></cac:OrderLineReference>
    <cac:Item>
      <cbc:Name>$name</cbc:Name>
      <cac:SellersItemIdentification><cbc:ID>$item</cbc:ID></cac:SellersItemIdentification>
    </cac:Item>
    <cac:Price><cbc:PriceAmount currencyID="EUR">$price</cbc:PriceAmount></cac:Price>
  </cac:InvoiceLine>""")

_PARTY = Template("""
    <cac:Party>
      <cac:PartyIdentification><cbc:ID>$id</cbc:ID></cac:PartyIdentification>
      <cac:PartyName><cbc:Name>$name</cbc:Name></cac:PartyName>
      <cac:Contact><cbc:ElectronicMail>$email</cbc:ElectronicMail></cac:Contact>
    </cac:Party>
  """)

_SELLER = _PARTY.substitute(
    id="SUP-0477", name="Lumen Office Parts BV", email="orders@lumenparts.example"
)
_BUYER = _PARTY.substitute(
    id="FJORD-01", name="Fjordline Group", email="accounts.payable@fjordline.example"
)


@dataclass(frozen=True, slots=True)
class _Part:
    """One line's item; prices and quantities follow from the number alone."""

    number: int

    @property
    def quantity(self) -> int:
        return self.number % 24 + 1

    def price(self, surcharge: Decimal = Decimal(0)) -> Decimal:
        return Decimal(self.number % 89 + 1) + Decimal("0.45") + surcharge

    def fields(self, price: Decimal) -> dict[str, object]:
        return {
            "number": self.number,
            "quantity": self.quantity,
            "price": price,
            "amount": price * self.quantity,
            "name": f"Spare part {self.number:03}",
            "item": f"LP-{1000 + self.number}",
        }


def write_large_documents(folder: Path) -> None:
    """Write both files into an existing folder, over older ones."""
    ordered = [part.fields(part.price()) for part in _parts()]
    invoiced = [part.fields(part.price(_surcharge(part))) for part in _parts()]
    _write(folder / "PO-7800.xml", _ORDER, _ORDER_LINE, ordered)
    _write(folder / "INV-1050.xml", _INVOICE, _INVOICE_LINE, invoiced)


def _parts() -> Iterator[_Part]:
    return (_Part(number) for number in range(1, LINES + 1))


def _surcharge(part: _Part) -> Decimal:
    return Decimal("12.50") if part.number == OVERCHARGED else Decimal(0)


def _write(
    path: Path, document: Template, line: Template, lines: list[dict[str, object]]
) -> None:
    text = document.substitute(
        buyer=_BUYER,
        seller=_SELLER,
        total=sum(Decimal(str(fields["amount"])) for fields in lines),
        lines="\n".join(line.substitute(fields) for fields in lines),
    )
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_large_documents(Path(sys.argv[1]))
