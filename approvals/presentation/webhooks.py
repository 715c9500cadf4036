"""Who is told of events outside, and what became of each message."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from approvals.presentation.leave import Pick
from approvals.presentation.shell import Empty, Notice, Pages


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRow:
    """One address. `state` is on, failing or off; `waiting` counts what is queued.

    Of a chat `url` is what may be shown of its address; `queue` is the one that it hears
    of, or empty for all.
    """

    href: str
    is_chat: bool
    url: str
    queue: str
    description: str
    state: str
    types: int
    waiting: int
    dead: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeChoice:
    """One type of event, to be ticked; `title` is what a chat's are called."""

    name: str
    title: str = ""
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookForm:
    """What is set of a webhook, as typed; `errors` has a sentence by field."""

    action: str
    url: str = ""
    description: str = ""
    types: tuple[TypeChoice, ...] = ()
    with_arguments: bool = False
    errors: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatForm:
    """What is set of a chat. Its address is never in it: `shown` is what it ends with."""

    action: str
    shown: str = ""
    description: str = ""
    types: tuple[TypeChoice, ...] = ()
    queues: tuple[Pick, ...] = ()
    errors: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhooksView:
    """In the context as `webhooks`."""

    rows: tuple[WebhookRow, ...]
    form: WebhookForm
    chat: ChatForm
    empty: Empty | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRow:
    """One message. `state` is queued, retry, delivered, dead or dropped.

    `last` is what came back.
    """

    href: str
    event: str
    type: str
    state: str
    attempts: int
    last: str
    created_at: datetime
    due_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookView:
    """In the context as `webhook`. `secret` is set once, when it has just been made."""

    back_href: str
    row: WebhookRow
    why_disabled: str
    resting_until: datetime | None
    former_until: datetime | None
    form: WebhookForm | ChatForm
    deliveries: tuple[DeliveryRow, ...]
    pages: Pages
    empty: Empty | None
    now: datetime
    secret: str = ""
    notice: Notice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRow:
    """One try: what came back, and how long it took."""

    at: datetime
    said: str
    milliseconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryView:
    """In the context as `delivery`; `may_replay` when it is not on its way."""

    back_href: str
    replay_href: str
    is_chat: bool
    row: DeliveryRow
    body: str
    attempts: tuple[AttemptRow, ...]
    may_replay: bool
    now: datetime
    notice: Notice | None = None
