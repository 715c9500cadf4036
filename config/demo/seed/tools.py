"""What the agents can do, as the company has registered it.

What has a `path` is carried out by Keyturn's worker, which calls the company's systems;
the rest is the agent's own to carry out.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from approvals.services.policies import publish_policy
from checkpoints.services.tools import register_tool
from config.demo.seed.cast import CONTROLLERS, PLATFORM, PROCUREMENT
from config.demo.seed.company import BY, Founded
from examples.invoice import tool_definitions as invoice
from sessions.services import define_workflow

type Schema = dict[str, Any]

_MONEY: Final[Schema] = {"type": "string", "pattern": "^[0-9]{1,9}\\.[0-9]{2}$"}
_CURRENCY: Final[Schema] = {"type": "string", "pattern": "^[A-Z]{3}$"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool. `path` is of the company's system that carries a managed one out."""

    name: str
    risk: str
    title: str
    description: str
    size: str = ""
    path: str = ""
    schema: Schema = field(default_factory=dict)

    @property
    def mode(self) -> str:
        return "managed" if self.path else "agent"

    def definition(self, base_url: str) -> dict[str, Any]:
        """The stored form, with the addresses of one company's system."""
        said: dict[str, Any] = {
            "title": self.title,
            "description": self.description,
            "schema": self.schema,
        }
        if self.size:
            said["size"] = self.size
        if self.path:
            url = f"{base_url}/{self.path}"
            said |= {"url": url, "status_url": f"{url}/by-key/{{key}}"}
            said |= {"timeout": 10, "settle": 20, "resend": True}
        return said


def _object(*required: str, **properties: Schema) -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required or properties),
        "properties": properties,
    }


def _text(title: str, most: int = 200, **more: Any) -> Schema:
    return {"type": "string", "title": title, "minLength": 1, "maxLength": most} | more


def _whole(title: str, most: int) -> Schema:
    return {"type": "integer", "title": title, "minimum": 0, "maximum": most}


TOOLS: Final = (
    Tool(
        name="create_payment",
        risk="high",
        title="Pay {amount} {currency} to {payee}",
        size="{amount} {currency}",
        description="Transfers money to a bank account. It leaves within the hour and"
        " comes back only if the payee sends it back.",
        path="payments",
        schema=_object(
            *("payee", "account", "amount", "currency"),
            payee=_text("Payee"),
            account=_text("Account", 34, pattern="^[A-Z]{2}[0-9A-Z ]{10,32}$"),
            amount=_MONEY | {"title": "Amount"},
            currency=_CURRENCY | {"title": "Currency"},
            reference=_text("Reference", 500),
            memo=_text("Memo to the payee", 4_000),
        ),
    ),
    Tool(
        name="refund_payment",
        risk="medium",
        title="Refund {amount} {currency} on order {order}",
        size="{amount} {currency}",
        description="Returns money to the card that paid for an order.",
        path="refunds",
        schema=_object(
            order=_text("Order", 40, readOnly=True),
            amount=_MONEY | {"title": "Amount"},
            currency=_CURRENCY | {"title": "Currency"},
            reason={
                "title": "Reason",
                "enum": ["damaged", "late", "not_delivered", "goodwill"],
            },
        ),
    ),
    Tool(
        name="deploy_service",
        risk="high",
        title="Deploy {service} {version} to {environment}",
        size="1 service",
        description="Replaces the running version of a service. The version before it"
        " can be deployed again in about four minutes.",
        path="deployments",
        schema=_object(
            *("service", "version", "environment", "strategy"),
            service=_text("Service", 60, readOnly=True),
            version=_text("Version", 40),
            environment={"title": "Environment", "enum": ["staging", "production"]},
            strategy={"title": "How", "enum": ["rolling", "blue_green", "canary"]},
            commit=_text("Commit", 40, pattern="^[0-9a-f]{7,40}$"),
            migrations={"type": "boolean", "title": "Changes the database"},
        ),
    ),
    Tool(
        name="set_rate_limit",
        risk="high",
        title="Set the rate limit of {service} from {from} to {to} per second",
        size="1 setting",
        description="Changes how many requests a service takes. It applies at once.",
        path="settings",
        schema=_object(
            service=_text("Service", 60, readOnly=True),
            **{"from": _whole("From, per second", 1_000_000)},
            to=_whole("To, per second", 1_000_000),
        ),
    ),
    Tool(
        name="rotate_key",
        risk="medium",
        title="Rotate the API key of partner {partner}",
        size="1 secret",
        description="Gives a partner a new key; the old one works for a while longer.",
        path="keys",
        schema=_object(
            partner=_text("Partner", 60, readOnly=True),
            grace_minutes=_whole("Old key works for, minutes", 1_440),
        ),
    ),
    Tool(
        name="grant_access",
        risk="medium",
        title="Give {person} {level} access to {resource}",
        size="1 person",
        description="Lets somebody into a system until an administrator ends it.",
        path="grants",
        schema=_object(
            *("person", "resource", "level"),
            person=_text("Person", 60),
            resource=_text("Resource", 80, readOnly=True),
            level={"title": "Access", "enum": ["read", "write", "admin"]},
            until=_text("Until", 10, format="date"),
        ),
    ),
    Tool(
        name="delete_records",
        risk="critical",
        title="Delete {count} customer records from {database}",
        size="{count} records",
        description="Deletes records and their backups. Nobody can bring them back.",
        path="deletions",
        schema=_object(
            database=_text("Database", 60, readOnly=True),
            filter=_text("Which", 500),
            count=_whole("How many", 10_000_000),
            sample={
                "type": "array",
                "title": "The first of them",
                "maxItems": 20,
                "items": _text("Customer", 20),
            },
        ),
    ),
    Tool(
        name="send_campaign",
        risk="high",
        title="E-mail {recipients} customers: “{subject}”",
        size="{recipients} people",
        description="Sends one e-mail to each customer of a segment. What was sent"
        " cannot be recalled.",
        path="campaigns",
        schema=_object(
            *("segment", "recipients", "subject", "body"),
            segment=_text("Segment", 80, readOnly=True),
            recipients=_whole("Recipients", 1_000_000),
            subject=_text("Subject", 150),
            body=_text("Text, sent word for word", 4_000),
            send_at=_text("Not before", 35, format="date-time"),
        ),
    ),
    Tool(
        name="tag_tickets",
        risk="low",
        title="Tag {count} tickets as “{tag}”",
        size="{count} tickets",
        description="Adds a label to tickets; it can be taken off again.",
        path="labels",
        schema=_object(
            tag=_text("Tag", 40),
            count=_whole("How many", 1_000),
            tickets={
                "type": "array",
                "title": "Tickets",
                "maxItems": 1_000,
                "items": _text("Ticket", 20),
            },
        ),
    ),
    Tool(
        name="ask_reviewer",
        risk="low",
        title="{question}",
        description="Asks a person something that the agent cannot know. Nothing is"
        " carried out: answer instead of approving.",
        schema=_object(question=_text("Question", 500)),
    ),
)

FINANCIAL: Final = (
    "['create_payment', 'refund_payment', 'send_correction_request', 'hold_payment']"
)
CHANGES: Final = "['deploy_service', 'set_rate_limit', 'rotate_key', 'grant_access']"
PERSONAL: Final = "['delete_records', 'send_campaign', 'tag_tickets', 'ask_reviewer']"


def register_tools(founded: Founded, base_url: str) -> None:
    """Register every tool, and the workflow of the invoice agent."""
    for tool in (*TOOLS, *invoice.TOOLS):
        register_tool(
            tenant_id=founded.tenant_id,
            by=BY,
            name=tool.name,
            mode=tool.mode,
            risk=tool.risk,
            definition=tool.definition(base_url),
        )
    define_workflow(
        tenant_id=founded.tenant_id,
        by=BY,
        kind=invoice.WORKFLOW_KIND,
        definition=invoice.WORKFLOW,
    )


def publish_policies(founded: Founded) -> None:
    """Put the company's rules in force."""
    for name, definition in _policies(founded).items():
        publish_policy(
            tenant_id=founded.tenant_id, by=BY, name=name, definition=definition
        )


def _policies(founded: Founded) -> dict[str, dict[str, Any]]:
    def of(group: str, approvals: int = 1) -> dict[str, Any]:
        eligible = {"groups": [str(founded.groups[group])]}
        return {"eligible": eligible, "approvals": approvals}

    return {
        "finance-controllers": {
            "summary": "What moves money at high risk needs a finance controller.",
            "selector": f"tool in {FINANCIAL} && risk in ['high', 'critical']",
            "verdict": "require_review",
            "rules": [of(CONTROLLERS)],
            "queue": "finance",
        },
        "large-payments": {
            "summary": "A payment above 10,000 needs a controller and procurement.",
            "selector": "tool == 'create_payment' && double(arguments.amount) > 10000.0",
            "verdict": "require_review",
            "rules": [of(CONTROLLERS), of(PROCUREMENT)],
            "queue": "finance",
            "use_within": 1800,
        },
        "small-refunds": {
            "summary": "Refunds up to 25.00 go through by themselves.",
            "selector": "tool == 'refund_payment' && double(arguments.amount) <= 25.0",
            "verdict": "allow",
        },
        "blocked-payees": {
            "summary": "Nobody pays Mallory Trading: fraud case of March.",
            "selector": "tool == 'create_payment'"
            " && arguments.payee.matches('(?i)mallory')",
            "verdict": "deny",
        },
        "production-changes": {
            "summary": "Production is changed by people of Platform.",
            "selector": f"tool in {CHANGES}",
            "verdict": "require_review",
            "rules": [of(PLATFORM)],
            "queue": "production",
        },
        "limits-need-two": {
            "summary": "Limits protect everybody: two people of Platform.",
            "selector": "tool == 'set_rate_limit'",
            "verdict": "require_review",
            "rules": [of(PLATFORM, approvals=2)],
            "reason": "always",
            "queue": "production",
        },
        "customer-data": {
            "summary": "What touches customers is decided by Customer care.",
            "selector": f"tool in {PERSONAL}",
            "verdict": "require_review",
            "queue": "customer-data",
            "decide_within": 3 * 24 * 3600,
        },
        "deletions-need-two": {
            "summary": "What cannot be brought back needs two people.",
            "selector": "tool == 'delete_records'",
            "verdict": "require_review",
            "rules": [{"approvals": 2}],
            "reason": "always",
            "queue": "customer-data",
        },
    }
