"""What the agents want: one scene a request, of different kinds and risks."""

from typing import Final

from approvals.asks import Ask
from config.demo.seed.cast import INVOICE_AGENT, OPS_AGENT, SUPPORT_AGENT
from config.demo.seed.hostile import HOSTILE_PAYMENT, HOSTILE_WORDS
from config.demo.seed.scene import Scene, guess, tool, user

HOUR: Final = 3600
DAY: Final = 24 * HOUR

HOSTILE: Final = Scene(
    agent=INVOICE_AGENT,
    subject="inbox@fjordline.example",
    title="Mail of Acme Logistics",
    instruction="Pay what is due today.",
    looked_up={
        "read_mail 8841": {"from": "billing@acme-logistics.example", "says": "urgent"}
    },
    facts={
        "account_known": tool(False, "list_payees"),
        "sender_is_genuine": guess("almost certainly"),
    },
    ask=Ask(
        tool="create_payment",
        arguments=HOSTILE_PAYMENT,
        target="NO9386011117947",
        explanation=HOSTILE_WORDS,
        risk="critical",
        decide_within=38 * 60,
    ),
)

DELETION: Final = Scene(
    agent=SUPPORT_AGENT,
    subject="privacy@fjordline.example",
    title="Closed accounts of 2019",
    instruction="Delete the customers whose accounts were closed in 2019.",
    looked_up={
        "count_records closed-2019": {"matching": 2310, "with_open_invoices": 0},
        "read_policy retention": {"keep_years": 7, "since": "closing"},
    },
    facts={
        "matching_records": tool(2310, "count_records, item 3"),
        "with_open_invoices": tool(0, "count_records, item 3"),
        "retention_over": guess("the seven years ended in January"),
    },
    ask=Ask(
        tool="delete_records",
        arguments={
            "database": "crm-production",
            "filter": "account.closed_at < 2020-01-01 AND account.balance = 0",
            "count": 2310,
            "sample": ["C-0412", "C-0413", "C-0977", "C-1204", "C-1206"],
        },
        target="crm-production",
        preconditions=({"field": "with_open_invoices", "equals": 0},),
        explanation="Retention of seven years is over for these accounts.",
        decide_within=6 * HOUR,
    ),
)

DEPLOYMENT: Final = Scene(
    agent=OPS_AGENT,
    subject="release-train",
    title="Release 4.18.0",
    instruction="Bring checkout-api 4.18.0 to production before noon.",
    looked_up={
        "run_tests checkout-api@4.18.0": {"passed": 1824, "failed": 0},
        "read_staging checkout-api": {"error_rate": 0.0004, "hours": 26},
    },
    facts={
        "tests_failed": tool(0, "run_tests, item 3"),
        "staging_hours": tool(26, "read_staging, item 5"),
        "instruction": user("before noon"),
    },
    ask=Ask(
        tool="deploy_service",
        arguments={
            "service": "checkout-api",
            "version": "4.18.0",
            "environment": "production",
            "strategy": "canary",
            "commit": "b7e93d1",
            "migrations": False,
        },
        target="production/checkout-api",
        preconditions=({"field": "tests_failed", "equals": 0, "max_age": 4 * HOUR},),
        explanation="All tests pass, and it ran on staging for 26 hours.",
        decide_within=26 * 60,
    ),
)

RATE_LIMIT: Final = Scene(
    agent=OPS_AGENT,
    subject="on-call",
    title="Throttled payments",
    instruction="Partners are being throttled at payments-gateway. Fix it.",
    looked_up={
        "read_metrics payments-gateway": {"throttled_per_minute": 412, "limit": 200}
    },
    facts={
        "current_limit": tool(200, "read_metrics, item 3"),
        "throttled_per_minute": tool(412, "read_metrics, item 3"),
    },
    ask=Ask(
        tool="set_rate_limit",
        arguments={"service": "payments-gateway", "from": 200, "to": 2000},
        target="payments-gateway",
        preconditions=({"field": "current_limit", "equals": 200},),
        explanation="Ten times the limit leaves room for the whole of December.",
        decide_within=5 * HOUR,
    ),
)

ROTATION: Final = Scene(
    agent=OPS_AGENT,
    subject="security",
    title="Keys older than 90 days",
    instruction="Rotate partner keys that are older than 90 days.",
    looked_up={"list_keys partners": {"nordvik": 97, "halden": 31}},
    facts={"key_age_days": tool(97, "list_keys, item 3")},
    ask=Ask(
        tool="rotate_key",
        arguments={"partner": "nordvik", "grace_minutes": 60},
        target="partners/nordvik",
        explanation="The key is 97 days old.",
        decide_within=8 * HOUR,
    ),
)

ACCESS: Final = Scene(
    agent=OPS_AGENT,
    subject="k.osei@fjordline.example",
    title="Access for K. Osei",
    instruction="I need the exports of finance for the audit.",
    looked_up={"read_person k.osei": {"team": "Internal audit", "contract": "2027-03"}},
    facts={"team": tool("Internal audit", "read_person, item 3")},
    ask=Ask(
        tool="grant_access",
        arguments={"person": "k.osei", "resource": "finance-exports", "level": "write"},
        target="finance-exports",
        explanation="They work for Internal audit.",
        decide_within=DAY,
    ),
)

PAYMENT: Final = Scene(
    agent=INVOICE_AGENT,
    subject="ingrid.moe@fjordline.example",
    title="Invoices due this week",
    instruction="Pay Halden Paper Supply what is undisputed.",
    looked_up={
        "list_invoices Halden": {"due": ["INV-1039"], "disputed": ["INV-1042"]},
        "read_supplier SUP-0318": {"account": "NO8330001234567", "since": 2014},
    },
    facts={
        "invoice_matches_order": tool(True, "compare_lines INV-1039"),
        "account_on_file": tool(True, "read_supplier, item 5"),
        "paid_before": tool(False, "list_payments"),
    },
    ask=Ask(
        tool="create_payment",
        arguments={
            "payee": "Halden Paper Supply Ltd",
            "account": "NO83 3000 1234 567",
            "amount": "12640.00",
            "currency": "EUR",
            "reference": "INV-1039",
        },
        target="NO8330001234567",
        preconditions=({"field": "paid_before", "equals": False, "max_age": HOUR * 8},),
        explanation="The invoice agrees with its order line by line.",
        decide_within=7 * HOUR,
    ),
)

CAMPAIGN: Final = Scene(
    agent=SUPPORT_AGENT,
    subject="marketing@fjordline.example",
    title="New prices",
    instruction="Tell the customers concerned that prices change in January.",
    looked_up={"count_segment price-change-2027": {"people": 412, "opted_out": 9}},
    facts={
        "people_in_segment": tool(412, "count_segment, item 3"),
        "opted_out_removed": tool(True, "count_segment, item 3"),
    },
    ask=Ask(
        tool="send_campaign",
        arguments={
            "segment": "price-change-2027",
            "recipients": 412,
            "subject": "New prices from 1 January",
            "body": "Dear customer,\n\nfrom 1 January our prices change. Yours are"
            " in the attached list; contracts that run are not affected.\n\n"
            "Kind regards,\nFjordline Group",
        },
        target="price-change-2027",
        explanation="The segment leaves out everybody who wants no mail.",
        decide_within=3 * HOUR,
    ),
)

REFUND: Final = Scene(
    agent=SUPPORT_AGENT,
    subject="customer C-2209",
    title="Broken chair",
    instruction="The chair arrived with a broken leg. I want my money back.",
    looked_up={
        "read_order A-4721": {"total": "180.50", "delivered": "2026-11-24"},
        "read_photo 1": {"shows": "a chair, one leg broken"},
    },
    facts={
        "order_total": tool("180.50", "read_order, item 3"),
        "damage_claimed": user("broken leg"),
        "damage_likely": guess("the photo shows it"),
    },
    ask=Ask(
        tool="refund_payment",
        arguments={
            "order": "A-4721",
            "amount": "180.50",
            "currency": "EUR",
            "reason": "damaged",
        },
        target="A-4721",
        explanation="The photo shows the damage.",
        decide_within=4 * HOUR,
    ),
)


def _tags(tag: str, count: int, first: int) -> Scene:
    return Scene(
        agent=SUPPORT_AGENT,
        subject="support-desk",
        title="Sort the backlog",
        instruction="Sort the tickets that nobody has looked at.",
        facts={"tickets_found": tool(count, "search_tickets")},
        ask=Ask(
            tool="tag_tickets",
            arguments={
                "tag": tag,
                "count": count,
                "tickets": [f"T-{first + 7 * number}" for number in range(count)],
            },
            explanation="They say the same in different words.",
            decide_within=2 * DAY,
        ),
    )


QUESTION: Final = Scene(
    agent=SUPPORT_AGENT,
    subject="customer C-2209",
    title="Two addresses",
    instruction="I moved, please change my address.",
    looked_up={
        "read_customer C-2209": {"shipping": "Storgata 4, Bergen"},
        "read_order A-4721": {"shipping": "Havnegata 11, Stavanger"},
    },
    facts={"addresses_on_file": tool(2, "read_customer, read_order")},
    ask=Ask(
        tool="ask_reviewer",
        arguments={"question": "Which address should customer C-2209 keep?"},
        allowed=("respond", "reject"),
        response_schema={
            "type": "object",
            "additionalProperties": False,
            "required": ["keep"],
            "properties": {
                "keep": {
                    "title": "Address to keep",
                    "enum": ["Storgata 4, Bergen", "Havnegata 11, Stavanger"],
                },
                "note": {"type": "string", "title": "Note", "maxLength": 300},
            },
        },
        explanation="The order and the customer's page do not agree.",
        decide_within=3 * DAY,
    ),
)

# Decided by policy alone, at once.
SMALL_REFUND: Final = Scene(
    agent=SUPPORT_AGENT,
    subject="customer C-0187",
    title="Late delivery",
    instruction="My parcel came a week late.",
    facts={"days_late": tool(7, "read_order")},
    ask=Ask(
        tool="refund_payment",
        arguments={
            "order": "A-4698",
            "amount": "4.90",
            "currency": "EUR",
            "reason": "late",
        },
        target="A-4698",
        explanation="The shipping fee.",
    ),
)
BLOCKED: Final = Scene(
    agent=INVOICE_AGENT,
    subject="inbox@fjordline.example",
    title="Mail of Mallory Trading",
    instruction="Pay what is due today.",
    ask=Ask(
        tool="create_payment",
        arguments={
            "payee": "Mallory Trading Ltd",
            "account": "NO0115033328590",
            "amount": "990.00",
            "currency": "EUR",
        },
        target="NO0115033328590",
        explanation="The reminder says it is the last one.",
    ),
)

OPEN: Final = (
    _tags("duplicate", 12, 40210),
    _tags("billing", 38, 41007),
    QUESTION,
    ROTATION,
    REFUND,
    PAYMENT,
    CAMPAIGN,
    DEPLOYMENT,
    DELETION,
    HOSTILE,
)
DECIDED_BY_POLICY: Final = (SMALL_REFUND, BLOCKED)

SHOP_PAYMENT: Final = Scene(
    agent="shop-agent",
    subject="shop@nordvik.example",
    title="Restock",
    instruction="Order what is running out.",
    facts={"in_stock": tool(3, "read_stock")},
    ask=Ask(
        tool="order_goods",
        arguments={"item": "Rope, 12 mm", "metres": 400, "price": "316.00 EUR"},
        explanation="Three rolls are left, and the season begins.",
        decide_within=2 * DAY,
    ),
)
