"""The agent's two tools and its workflow, as an installation registers them.

Argument schemas are JSON Schema 2020-12. `readOnly` marks what names the target: a
reviewer who wants another one rejects the request instead of editing it.
"""

from dataclasses import dataclass
from typing import Any

from examples.invoice.actions import CORRECTION, HOLD

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_IDENTIFIER = "^[A-Za-z0-9][A-Za-z0-9-]{0,39}$"
_AMOUNT = "^-?[0-9]{1,12}\\.[0-9]{2,4}$"

type Schema = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """One tool; `title` and `size` are filled in from the arguments of a request.

    Paths are under the correction system's URL; times are in seconds.
    """

    name: str
    title: str
    size: str
    description: str
    mode: str
    risk: str
    arguments: Schema
    path: str
    status_path: str
    timeout: int = 10
    settle: int = 30
    attempts: int = 3

    def definition(self, base_url: str) -> dict[str, Any]:
        """The stored form, with the addresses of one correction system."""
        return {
            "title": self.title,
            "size": self.size,
            "description": self.description,
            "schema": self.arguments,
            "url": f"{base_url}{self.path}",
            "status_url": f"{base_url}{self.status_path}",
            "timeout": self.timeout,
            "settle": self.settle,
            "attempts": self.attempts,
            "resend": True,
        }


def _text(title: str, *, most: int, **more: Any) -> Schema:
    return {"type": "string", "title": title, "minLength": 1, "maxLength": most} | more


def _identifier(title: str, **more: Any) -> Schema:
    return {"type": "string", "title": title, "pattern": _IDENTIFIER} | more


def _amount(title: str) -> Schema:
    return {"type": "string", "title": title, "pattern": _AMOUNT}


def _quantity(title: str) -> Schema:
    return {"type": "number", "title": title, "minimum": 0, "maximum": 1_000_000}


def _object(
    title: str, properties: Schema, *, optional: tuple[str, ...] = ()
) -> Schema:
    return {
        "type": "object",
        "title": title,
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


_SUPPLIER = _object(
    "Supplier",
    {
        "id": _identifier("Supplier number", readOnly=True),
        "name": _text("Name", most=120, readOnly=True),
        "email": _text("E-mail address", most=254, format="email"),
    },
)
_CURRENCY: Schema = {"type": "string", "title": "Currency", "pattern": "^[A-Z]{3}$"}

_LINE = _object(
    "Line",
    {
        "line": {"type": "integer", "title": "Line", "minimum": 1, "readOnly": True},
        "item": _text("Item", most=120),
        "quantity": _quantity("Quantity"),
        "ordered_quantity": _quantity("Ordered quantity"),
        "ordered_unit_price": _amount("Ordered, each"),
        "invoiced_unit_price": _amount("Invoiced, each"),
    },
    optional=("ordered_quantity",),
)

SEND_CORRECTION_REQUEST = ToolDefinition(
    name=CORRECTION,
    title="Send a correction request to {supplier.name} for invoice {invoice_id}",
    size="{amount_delta} {currency}",
    description="Asks a supplier in writing to correct an invoice. One e-mail leaves"
    " the company and cannot be recalled.",
    mode="managed",
    risk="high",
    path="/corrections",
    status_path="/corrections/by-key/{key}",
    arguments={"$schema": _DRAFT}
    | _object(
        "Correction request",
        {
            "invoice_id": _identifier("Invoice", readOnly=True),
            "purchase_order": _identifier("Purchase order", readOnly=True),
            "supplier": _SUPPLIER,
            "lines": {
                "type": "array",
                "title": "Lines that differ",
                "items": _LINE,
                "minItems": 1,
                "maxItems": 1_000,
            },
            "currency": _CURRENCY,
            "amount_delta": _amount("Ordered minus invoiced"),
            "reply_by": {"type": "string", "title": "Reply by", "format": "date"},
            "message": _text("Message, sent word for word", most=2_000),
        },
    ),
)

HOLD_PAYMENT = ToolDefinition(
    name=HOLD,
    title="Hold the payment of invoice {invoice_id} from {supplier.name}",
    size="{amount} {currency}",
    description="Takes an invoice out of the next payment run until somebody releases"
    " it. Nothing leaves the company.",
    mode="agent",
    risk="medium",
    path="/holds",
    status_path="/holds/by-key/{key}",
    arguments={"$schema": _DRAFT}
    | _object(
        "Payment hold",
        {
            "invoice_id": _identifier("Invoice", readOnly=True),
            "duplicate_of": _identifier("Duplicate of"),
            "purchase_order": _identifier("Purchase order", readOnly=True),
            "supplier": _SUPPLIER,
            "amount": _amount("Amount held"),
            "currency": _CURRENCY,
            "reason": _text("Reason", most=500),
        },
    ),
)

TOOLS = (SEND_CORRECTION_REQUEST, HOLD_PAYMENT)


def _field(schema: Schema, *provenance: str, max_age: int | None = None) -> Schema:
    age = {} if max_age is None else {"max_age": max_age}
    # Nothing that the model inferred, or a document claimed, can stand as authority.
    return {"schema": schema, "provenance": list(provenance), "authority": True} | age


_INFERENCE: Schema = {
    "schema": {"type": "string", "maxLength": 200},
    "provenance": ["model"],
    "authority": False,
}
VALIDATION_MAX_AGE = 4 * 3600

WORKFLOW_KIND = "invoice"
WORKFLOW: dict[str, Any] = {
    "initial": "reading",
    "stages": {
        "reading": ["comparing"],
        "comparing": ["validating"],
        "validating": ["validated"],
        "validated": ["awaiting_approval", "done"],
        "awaiting_approval": ["done"],
        "done": [],
    },
    "schema_versions": [2],
    "fields": {
        "instruction": _field({"type": "string", "maxLength": 500}, "user"),
        "po_matched": _field({"type": "boolean"}, "tool"),
        "lines_compared": _field({"type": "integer", "minimum": 0}, "tool"),
        "lines_differing": _field({"type": "integer", "minimum": 0}, "tool"),
        "ordered_total": _field(_amount("Ordered"), "tool"),
        "invoiced_total": _field(_amount("Invoiced"), "tool"),
        "duplicate_of": _field(_identifier("Duplicate of"), "tool"),
        "validation_status": _field(
            {"enum": ["passed", "failed"]}, "tool", max_age=VALIDATION_MAX_AGE
        ),
        "supplier_agrees": _INFERENCE,
        "correction_sent": _field({"type": "boolean"}, "tool"),
        "payment_held": _field({"type": "boolean"}, "tool"),
        "external_id": _field({"type": "string", "maxLength": 255}, "tool"),
        "outcome": _field({"type": "string", "maxLength": 40}, "tool"),
    },
}
