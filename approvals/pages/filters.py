"""What narrows the list: the form that sets it, chips that take it away, links to alike."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

from approvals.pages.addresses import address
from approvals.pages.index import Entry, Index
from approvals.pages.selection import MY_OWN, NEWEST, SPANS, TAKEN, VIEWS, Selection
from approvals.presentation.case import Link
from approvals.presentation.queue import Facet, Filter, Filters, Option
from approvals.presentation.words import span

NAMED: Final = {"queue": "Queue", "tool": "Tool", "agent": "Agent"}
SPANNED: Final = {"age": "Asked over {} ago", "expiring": "Expires within {}"}
CONTROLLED: Final = {*NAMED, *SPANNED, "view", "mine", "taken", "sort", "after"}
MINE: Final = "Needs my key"


def chips(slug: str, selection: Selection) -> tuple[Facet, ...]:
    """Each filter in force; following one takes it away."""
    return tuple(
        Facet(
            value=name,
            label=label,
            count=0,
            href=address("queue", slug, query=selection.first_page(**{name: ""}).query),
        )
        for name, label in _said(selection)
    )


def _said(selection: Selection) -> Iterator[tuple[str, str]]:
    words = {"risk": "{} risk", "search": "“{}”", "alike": "Alike"}
    words |= {name: f"{label}: {{}}" for name, label in NAMED.items()}
    words |= {"mine": MY_OWN if selection.view == "decided" else MINE}
    for name, label in words.items():
        if getattr(selection, name):
            yield name, label.format(getattr(selection, name))
    for name, label in SPANNED.items():
        if getattr(selection, name):
            yield name, label.format(span(SPANS[getattr(selection, name)]))
    if selection.taken:
        yield "taken", TAKEN[selection.taken]
    if selection.sort == NEWEST:
        yield "sort", "Newest first"


def filters(slug: str, selection: Selection, index: Index) -> Filters:
    """The form, with the values that there are to choose from."""
    controls = [_view(selection), *_named(selection, index), _mine(selection)]
    controls += [_span(selection, "age")]
    if selection.view != "decided":
        controls += [_span(selection, "expiring"), _taken(selection)]
        controls += [_sort(selection)]
    kept = {k: v for k, v in selection.query.items() if v and k not in CONTROLLED}
    return Filters(
        href=address("queue", slug),
        controls=tuple(controls),
        kept=tuple(kept.items()),
    )


def _view(selection: Selection) -> Filter:
    return _control("view", "List", VIEWS, selection.view)


def _named(selection: Selection, index: Index) -> Iterator[Filter]:
    """Among the open; what is chosen is offered though nothing open has it."""
    for name, label in NAMED.items():
        chosen = getattr(selection, name)
        counts = index.by(name, selection) if selection.view != "decided" else {}
        values = sorted({*counts, *filter(None, [chosen])})
        options = [
            Option(value=one, label=one, count=counts.get(one), chosen=one == chosen)
            for one in values
        ]
        yield Filter(
            name=name, label=label, options=(Option(value="", label="Any"), *options)
        )


def _mine(selection: Selection) -> Filter:
    mine = MY_OWN if selection.view == "decided" else MINE
    return _control("mine", "Mine", {"": "Any", "1": mine}, selection.mine)


def _span(selection: Selection, name: str) -> Filter:
    label = {"age": "Age", "expiring": "Expiry"}[name]
    words = {one: SPANNED[name].format(span(of)) for one, of in SPANS.items()}
    return _control(name, label, {"": "Any", **words}, getattr(selection, name))


def _taken(selection: Selection) -> Filter:
    return _control("taken", "Taken", {"": "Any", **TAKEN}, selection.taken)


def _sort(selection: Selection) -> Filter:
    words = {"": "Risk, then expiry, then age", NEWEST: "Newest first"}
    return _control("sort", "Order", words, selection.sort)


def _control(name: str, label: str, words: Mapping[str, str], chosen: str) -> Filter:
    return Filter(
        name=name,
        label=label,
        options=tuple(
            Option(value=value, label=said, chosen=value == chosen)
            for value, said in words.items()
        ),
    )


def alike_links(
    slug: str, selection: Selection, found: Sequence[Entry], page: Sequence[Entry]
) -> Mapping[UUID, Link]:
    """For each row that has others like it in this list, the way to them all."""
    if selection.alike:
        return {}
    counts = Counter(entry.shape for entry in found)
    return {
        entry.id: Link(
            text=f"{counts[entry.shape]} alike",
            href=address(
                "queue", slug, query=selection.first_page(alike=entry.shape).query
            ),
        )
        for entry in page
        if counts[entry.shape] > 1
    }
