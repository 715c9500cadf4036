"""Orders and invoices in UBL 2.1, read into frozen values.

Amounts and quantities are `Decimal`, never floats. Every text is bounded, and what
is missing, repeated or malformed is refused with the place where it stands: nothing
is guessed.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from xml.etree.ElementTree import Element

from examples.invoice.safe_xml import MAX_BYTES, DocumentRefused, parse

_UBL = "urn:oasis:names:specification:ubl:schema:xsd:"
_NAMESPACES = {
    "cac": f"{_UBL}CommonAggregateComponents-2",
    "cbc": f"{_UBL}CommonBasicComponents-2",
}
_DECIMAL = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,4})?")
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,39}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_CURRENCY = re.compile(r"[A-Z]{3}")
_EMAIL = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})+")
MAX_LINES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Party:
    """A company as a document names it."""

    id: str
    name: str
    email: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line; `order_line` is the order's line number that an invoice line cites."""

    number: int
    order_line: int | None
    item_id: str
    description: str
    quantity: Decimal
    unit_price: Decimal
    amount: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A purchase order; `digest` is the SHA-256 (hex) of the file's bytes."""

    id: str
    issued: date
    currency: str
    supplier: Party
    lines: tuple[Line, ...]
    total: Decimal
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoice:
    """An invoice; `note` is the sender's own text and is trusted for nothing."""

    id: str
    issued: date
    due: date
    currency: str
    order_id: str
    supplier: Party
    lines: tuple[Line, ...]
    total: Decimal
    note: str
    digest: str


def read_order(data: bytes) -> Order:
    """Parse a UBL Order, or raise `DocumentRefused`."""
    root = _Node.root(data, "Order")
    return Order(
        id=root.identifier("cbc:ID"),
        issued=root.day("cbc:IssueDate"),
        currency=root.currency("cbc:DocumentCurrencyCode"),
        supplier=_party(root.one("cac:SellerSupplierParty/cac:Party")),
        lines=tuple(_order_line(node) for node in root.lines("cac:OrderLine")),
        total=root.amount("cac:AnticipatedMonetaryTotal/cbc:PayableAmount"),
        digest=hashlib.sha256(data).hexdigest(),
    )


def read_invoice(data: bytes) -> Invoice:
    """Parse a UBL Invoice, or raise `DocumentRefused`."""
    root = _Node.root(data, "Invoice")
    return Invoice(
        id=root.identifier("cbc:ID"),
        issued=root.day("cbc:IssueDate"),
        due=root.day("cbc:DueDate"),
        currency=root.currency("cbc:DocumentCurrencyCode"),
        order_id=root.identifier("cac:OrderReference/cbc:ID"),
        supplier=_party(root.one("cac:AccountingSupplierParty/cac:Party")),
        lines=tuple(_invoice_line(node) for node in root.lines("cac:InvoiceLine")),
        total=root.amount("cac:LegalMonetaryTotal/cbc:PayableAmount"),
        note=root.text("cbc:Note", limit=2_000, default=""),
        digest=hashlib.sha256(data).hexdigest(),
    )


@dataclass(frozen=True, slots=True)
class DocumentFolder:
    """A folder with one document a file, named after it: `INV-1042.xml`."""

    path: Path

    def order(self, order_id: str) -> Order:
        order = read_order(self._bytes(order_id))
        return _named(order, order.id, order_id)

    def invoice(self, invoice_id: str) -> Invoice:
        invoice = read_invoice(self._bytes(invoice_id))
        return _named(invoice, invoice.id, invoice_id)

    def invoice_ids(self) -> list[str]:
        """The names of the invoice files, read or not, in order."""
        return sorted(file.stem for file in self.path.glob("INV-*.xml"))

    def invoices_before(self, invoice: Invoice) -> Iterator[Invoice]:
        """The readable invoices that came earlier, oldest first."""
        others = (self._readable(name) for name in self.invoice_ids())
        earlier = [one for one in others if one and _arrival(one) < _arrival(invoice)]
        return iter(sorted(earlier, key=_arrival))

    def _readable(self, invoice_id: str) -> Invoice | None:
        try:
            return self.invoice(invoice_id)
        except DocumentRefused:
            return None

    def _bytes(self, document_id: str) -> bytes:
        # The id may come from a document: it must not be able to name another folder.
        if not _IDENTIFIER.fullmatch(document_id):
            raise DocumentRefused("invalid", f"{document_id!r} is not a document id")
        try:
            with (self.path / f"{document_id}.xml").open("rb") as file:
                return file.read(MAX_BYTES + 1)
        except OSError as error:
            raise DocumentRefused("not_found", f"{document_id}: {error}") from error


def _arrival(invoice: Invoice) -> tuple[date, str]:
    return invoice.issued, invoice.id


def _named[Document](document: Document, found: str, wanted: str) -> Document:
    if found != wanted:
        raise DocumentRefused("wrong_document", f"{wanted}.xml contains {found}")
    return document


def _party(node: "_Node") -> Party:
    return Party(
        id=node.identifier("cac:PartyIdentification/cbc:ID"),
        name=node.text("cac:PartyName/cbc:Name", limit=120),
        email=node.matching("cac:Contact/cbc:ElectronicMail", _EMAIL),
    )


def _order_line(node: "_Node") -> Line:
    return _line(node.one("cac:LineItem"), quantity="cbc:Quantity")


def _invoice_line(node: "_Node") -> Line:
    cited = node.number("cac:OrderLineReference/cbc:LineID", default=0)
    line = _line(node, quantity="cbc:InvoicedQuantity")
    return replace(line, order_line=cited or None)


def _line(node: "_Node", *, quantity: str) -> Line:
    node.must_lack("cac:Price/cbc:BaseQuantity")
    return Line(
        number=node.number("cbc:ID"),
        order_line=None,
        item_id=node.identifier("cac:Item/cac:SellersItemIdentification/cbc:ID"),
        description=node.text("cac:Item/cbc:Name", limit=120),
        quantity=node.amount(quantity),
        unit_price=node.amount("cac:Price/cbc:PriceAmount"),
        amount=node.amount("cbc:LineExtensionAmount"),
    )


@dataclass(frozen=True, slots=True)
class _Node:
    """One element, read by path; every refusal names the path."""

    element: Element
    place: str

    @classmethod
    def root(cls, data: bytes, kind: str) -> "_Node":
        element = parse(data)
        if element.tag != f"{{{_UBL}{kind}-2}}{kind}":
            raise DocumentRefused("wrong_document", f"this is not a UBL {kind}")
        return cls(element, kind)

    def one(self, path: str) -> "_Node":
        found = self._optional(path)
        if found is None:
            raise DocumentRefused("missing", self._at(path))
        return found

    def lines(self, path: str) -> Iterator["_Node"]:
        found = self.element.findall(path, _NAMESPACES)
        if not 0 < len(found) <= MAX_LINES:
            detail = f"{self._at(path)}: {len(found)}, from 1 to {MAX_LINES} allowed"
            raise DocumentRefused("invalid", detail)
        for index, element in enumerate(found, start=1):
            yield _Node(element, f"{self._at(path)}[{index}]")

    def must_lack(self, path: str) -> None:
        if self._optional(path) is not None:
            detail = f"{self._at(path)} changes what a price means: not supported"
            raise DocumentRefused("invalid", detail)

    def text(self, path: str, *, limit: int, default: str | None = None) -> str:
        found = self._optional(path) if default is not None else self.one(path)
        value = (found.element.text or "").strip() if found else default or ""
        if len(value) > limit or (default is None and not value):
            detail = f"{self._at(path)}: from 1 to {limit} characters allowed"
            raise DocumentRefused("invalid", detail)
        return value

    def matching(self, path: str, pattern: re.Pattern[str]) -> str:
        value = self.text(path, limit=320)
        if not pattern.fullmatch(value):
            raise DocumentRefused("invalid", f"{self._at(path)}: {value[:40]!r}")
        return value

    def identifier(self, path: str) -> str:
        return self.matching(path, _IDENTIFIER)

    def amount(self, path: str) -> Decimal:
        return Decimal(self.matching(path, _DECIMAL))

    def currency(self, path: str) -> str:
        """The document's currency, which every amount in it must be in."""
        currency = self.matching(path, _CURRENCY)
        stated = {node.get("currencyID", currency) for node in self.element.iter()}
        if stated != {currency}:
            raise DocumentRefused("ambiguous", f"{self.place}: more than one currency")
        return currency

    def number(self, path: str, *, default: int | None = None) -> int:
        if default is not None and self._optional(path) is None:
            return default
        return int(self.matching(path, re.compile(r"[1-9][0-9]{0,5}")))

    def day(self, path: str) -> date:
        value = self.matching(path, _DATE)
        try:
            return date.fromisoformat(value)
        except ValueError as error:
            raise DocumentRefused("invalid", f"{self._at(path)}: {error}") from error

    def _optional(self, path: str) -> "_Node | None":
        found = self.element.findall(path, _NAMESPACES)
        # Two amounts where one belongs: readers would disagree on which one counts.
        if len(found) > 1:
            raise DocumentRefused("ambiguous", f"{self._at(path)} appears twice")
        return _Node(found[0], self._at(path)) if found else None

    def _at(self, path: str) -> str:
        return f"{self.place}/{path}"
