"""Which requests a list shows. Read from an address; anything unknown is the default."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Final, Self

VIEWS: Final[Mapping[str, str]] = {
    "mine": "Needs my key",
    "all": "All open",
    "soon": "Expires within 1 hour",
    "changes": "Changes requested",
    "decided": "Decided",
}
OPEN_VIEWS: Final = ("mine", "all", "soon", "changes")
DEFAULT_VIEW: Final = "all"
RISKS: Final = ("critical", "high", "medium", "low")
LONGEST_SEARCH: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """`after` is the cursor of the last row of the page before."""

    view: str = DEFAULT_VIEW
    risk: str = ""
    search: str = ""
    after: str = ""

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Self:
        """From a query string. A mistyped filter shows everything, never an error."""
        view, risk = given.get("view", ""), given.get("risk", "")
        return cls(
            view=view if view in VIEWS else DEFAULT_VIEW,
            risk=risk if risk in RISKS else "",
            search=given.get("q", "").replace("\0", "").strip()[:LONGEST_SEARCH],
            after=given.get("after", ""),
        )

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
    def heading(self) -> str:
        return VIEWS[self.view]
