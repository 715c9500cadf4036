"""Which requests a list shows. Read from an address; anything unknown is the default."""

import re
from collections.abc import Container, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Final, Self

VIEWS: Final[Mapping[str, str]] = {
    "mine": "Needs my key",
    "all": "All open",
    "soon": "Expires within 1 hour",
    "changes": "Changes requested",
    "snoozed": "Put aside by me",
    "decided": "Decided",
}
MY_OWN: Final = "Decided by me"
OPEN_VIEWS: Final = ("mine", "all", "soon", "changes", "snoozed")
DEFAULT_VIEW: Final = "all"
RISKS: Final = ("critical", "high", "medium", "low")
SPANS: Final[Mapping[str, timedelta]] = {
    "1h": timedelta(hours=1),
    "8h": timedelta(hours=8),
    "1d": timedelta(days=1),
    "7d": timedelta(days=7),
}
NEWEST: Final = "newest"
# Who is on it, by the names of `Entry.taken`.
TAKEN: Final[Mapping[str, str]] = {
    "me": "I am on it",
    "others": "Others are on it",
    "free": "Nobody is on it",
}
LONGEST_SEARCH: Final = 200
PHRASE: Final = re.compile(r'"([^"]+)"|(\S+)')
MOST_WORDS: Final = 12
# Parameters that name something of the tenant, and those of few words.
NAMED: Final = ("queue", "tool", "agent", "alike")
KNOWN: Final[Mapping[str, Container[str]]] = {
    "risk": RISKS,
    "age": SPANS,
    "expiring": SPANS,
    "taken": TAKEN,
    "sort": (NEWEST,),
}
# What only an open request has: who is to decide it, until when, and others like it.
OF_OPEN: Final = ("expiring", "alike", "sort", "taken")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A view, narrowed: all that is given holds for each request of the list.

    `age` and `expiring` are names of `SPANS`: asked longer ago, expires sooner.
    `mine` narrows to what waits for the reader's key, or among the decided to what they
    have answered. `alike` is a shape (`Entry.shape`). `after` is the cursor of the last
    row of the page before.
    """

    view: str = DEFAULT_VIEW
    risk: str = ""
    search: str = ""
    queue: str = ""
    tool: str = ""
    agent: str = ""
    age: str = ""
    expiring: str = ""
    mine: str = ""
    alike: str = ""
    sort: str = ""
    taken: str = ""
    after: str = ""

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Self:
        """From a query string. A mistyped filter shows everything, never an error."""
        view = _known(given, "view", VIEWS) or DEFAULT_VIEW
        found = cls(
            view=view,
            search=_text(given, "q"),
            mine="1" if given.get("mine") else "",
            after=given.get("after", ""),
            **{name: _text(given, name) for name in NAMED},
            **{name: _known(given, name, these) for name, these in KNOWN.items()},
        )
        gone = dict.fromkeys(OF_OPEN, "") if view == "decided" else {}
        return replace(found, **gone)

    @property
    def query(self) -> dict[str, str]:
        """The parameters of an address that shows this selection."""
        said = asdict(self) | {"view": "" if self.view == DEFAULT_VIEW else self.view}
        said["q"] = said.pop("search")
        return said

    def first_page(self, **changes: str) -> "Selection":
        """Another selection, from its beginning."""
        return replace(self, after="", **changes)

    @property
    def among_decided(self) -> "Selection":
        """The same among what was decided, without what only the open have."""
        gone = dict.fromkeys((*OF_OPEN, "mine"), "")
        return self.first_page(view="decided", **gone)

    @property
    def is_narrowed(self) -> bool:
        """Whether anything but the view keeps a request out."""
        whole = Selection(view=self.view, sort=self.sort, after=self.after)
        return self != whole

    @property
    def words(self) -> list[str]:
        """What a search wants found: each word wherever it stands, what is quoted whole."""
        found = [quoted or word for quoted, word in PHRASE.findall(self.search)]
        return found[:MOST_WORDS]


def _known(given: Mapping[str, str], name: str, known: Container[str]) -> str:
    said = given.get(name, "")
    return said if said in known else ""


def _text(given: Mapping[str, str], name: str) -> str:
    return given.get(name, "").replace("\0", "").strip()[:LONGEST_SEARCH]
