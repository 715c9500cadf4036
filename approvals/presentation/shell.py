"""The frame around every page of a tenant: who is signed in, where they can go."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NavItem:
    """One way to go. `key` is the letter after `g` (q, r); `count` is shown as it is.

    What is `counted` keeps a place for its count also while there is none.
    """

    label: str
    href: str
    icon: str = ""
    count: int | None = None
    counted: bool = False
    current: bool = False
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """What stands beside a list and follows it: counted places, and the views whole,
    since another page of the same person may have made or removed one.
    """

    nav: tuple[NavItem, ...]
    views: tuple[NavItem, ...]
    views_href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What happened, what did not, what now. `tone` is '', warn or bad.

    `said` is what a person wrote with it, in their own words, or else the agent.
    """

    title: str
    sentence: str = ""
    code: str = ""
    tone: str = ""
    icon: str = "info"
    href: str = ""
    link: str = ""
    said: str = ""
    said_by_agent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """In the context as `shell`; pages without one are drawn without navigation.

    `admin` is for those who administer the tenant; `views` are the queue's named
    selections, `views_href` is where they are kept. `live_href` is the event stream that
    says `changed`; `waiting` counts what needs the person's key; `switch_href` is None for people of one tenant; `alarm` is what those
    who may look into it must not miss.
    """

    tenant: str
    person: str
    role: str
    home_href: str
    sign_out_href: str
    security_href: str
    notifications_href: str
    leave_href: str
    nav: tuple[NavItem, ...]
    admin: tuple[NavItem, ...] = ()
    views: tuple[NavItem, ...] = ()
    views_href: str = ""
    waiting: int = 0
    switch_href: str | None = None
    live_href: str | None = None
    find_href: str | None = None
    alarm: Notice | None = None

    @property
    def initials(self) -> str:
        """One or two capitals of the person's name, for the round mark beside it."""
        names = self.person.split()
        ends = names[:1] + names[-1:] if len(names) > 1 else names
        return "".join(name[0] for name in ends).upper()


@dataclass(frozen=True, slots=True, kw_only=True)
class Empty:
    """Why a place is empty, and one way on."""

    title: str
    sentence: str
    icon: str = "key-turned"
    label: str = ""
    href: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """Where the pages beside this one are; `shown` of `total` entries are on it."""

    shown: int
    total: int | None = None
    previous_href: str = ""
    next_href: str = ""
