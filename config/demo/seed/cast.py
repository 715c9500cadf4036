"""Who is in the demo: two companies, six people, and what each may do."""

import secrets
from dataclasses import dataclass
from typing import Final

from tenants.models import Role

type Rights = tuple[str, ...]

_LETTERS: Final = "abcdefghjkmnpqrstuvwxyz23456789"  # none that looks like another


@dataclass(frozen=True, slots=True, kw_only=True)
class Character:
    """A person of a tenant. `groups` are the tenant's; `note` says what they are for."""

    email: str
    name: str
    role: Role
    groups: tuple[str, ...] = ()
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A queue, and what the members of each group may do on it."""

    slug: str
    name: str
    rights: dict[str, Rights]
    default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Company:
    """A tenant. Its first person founds it; `agents` are by name, with an owner each."""

    slug: str
    name: str
    people: tuple[Character, ...]
    desks: tuple[Desk, ...]
    agents: dict[str, str]
    solo: bool = False

    @property
    def groups(self) -> list[str]:
        """All groups of its people, each once."""
        return list(dict.fromkeys(group for one in self.people for group in one.groups))


REVIEWERS: Final = "Reviewers"  # every tenant is founded with this one
CONTROLLERS: Final = "Finance controllers"
PROCUREMENT: Final = "Procurement"
PLATFORM: Final = "Platform"
CARE: Final = "Customer care"

INVOICE_AGENT: Final = "invoice-agent"
SUPPORT_AGENT: Final = "support-agent"
OPS_AGENT: Final = "ops-agent"

MAREN: Final = "maren.lindqvist@fjordline.example"
AINO: Final = "aino.rask@fjordline.example"
ADA: Final = "ada.holm@fjordline.example"
OLAV: Final = "olav.dahl@fjordline.example"
LEA: Final = "lea.novak@fjordline.example"
SAMIR: Final = "samir.haddad@fjordline.example"

_ALL: Final[Rights] = ("view", "decide", "edit_arguments")
_SEES: Final[Rights] = ("view",)

FINANCE: Final = Desk(
    slug="finance",
    name="Finance approvals",
    rights={REVIEWERS: _ALL},
    default=True,
)
PRODUCTION: Final = Desk(
    slug="production",
    name="Production changes",
    rights={PLATFORM: _ALL, CONTROLLERS: _SEES},
)
CUSTOMERS: Final = Desk(
    slug="customer-data",
    name="Customer data",
    rights={CARE: _ALL},
)

FJORDLINE: Final = Company(
    slug="fjordline",
    name="Fjordline Group",
    people=(
        Character(
            email=OLAV,
            name="Olav Dahl",
            role=Role.OWNER,
            groups=(REVIEWERS, PLATFORM),
            note="runs it, decides on production",
        ),
        Character(
            email=ADA,
            name="Ada Holm",
            role=Role.ADMIN,
            groups=(REVIEWERS, CONTROLLERS, PLATFORM, CARE),
            note="writes policies, decides on everything",
        ),
        Character(
            email=MAREN,
            name="Maren Lindqvist",
            role=Role.REVIEWER,
            groups=(REVIEWERS, CONTROLLERS, CARE),
            note="decides on money and customer data",
        ),
        Character(
            email=AINO,
            name="Aino Rask",
            role=Role.REVIEWER,
            groups=(REVIEWERS, CONTROLLERS, PROCUREMENT, PLATFORM),
            note="decides on money and production",
        ),
        Character(
            email=SAMIR,
            name="Samir Haddad",
            role=Role.AUDITOR,
            note="sees everything, decides nothing",
        ),
        Character(
            email=LEA,
            name="Lea Novak",
            role=Role.DEVELOPER,
            note="owns the agents, so never decides",
        ),
    ),
    desks=(FINANCE, PRODUCTION, CUSTOMERS),
    agents={INVOICE_AGENT: LEA, SUPPORT_AGENT: LEA, OPS_AGENT: LEA},
)

# One person alone: owner of the agent and reviewer, which is said on each decision.
NORDVIK: Final = Company(
    slug="nordvik",
    name="Nordvik AS",
    people=(
        Character(
            email=ADA,
            name="Ada Holm",
            role=Role.OWNER,
            groups=(REVIEWERS,),
            note="works here alone",
        ),
    ),
    desks=(
        Desk(slug="requests", name="Requests", rights={REVIEWERS: _ALL}, default=True),
    ),
    agents={"shop-agent": ADA},
    solo=True,
)

COMPANIES: Final = (FJORDLINE, NORDVIK)


def new_password() -> str:
    """Random, and short enough to type: `k3fw-9xt2-mbd7-qz5h`, 79 bits."""
    letters = [secrets.choice(_LETTERS) for _ in range(16)]
    return "-".join("".join(letters[at : at + 4]) for at in range(0, 16, 4))
