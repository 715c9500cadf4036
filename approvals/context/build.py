"""Step seven: what fits, in the order in which it was said, and never more than that."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from approvals.context.groups import Group
from approvals.context.history import History, ranges
from approvals.context.items import Entry
from approvals.context.pieces import Dropped, Piece, Trust, tokens_in
from approvals.context.shapes import SHAPES, Shape, told
from approvals.context.summary import extractive_piece, stored_piece
from kernel.problems import declare

CONTEXT_TOO_SMALL: Final = declare(
    "context_too_small",
    status=422,
    title="What the model must see does not fit into so many tokens",
)
LEAST_TOKENS: Final = 256
MOST_TOKENS: Final = 200_000
USUAL_TOKENS: Final = 8_000
SUMMARY_SHARE: Final = 4  # at most a quarter of the room of history
NO_ROOM: Final = "no room left"
TOO_OLD: Final = "older than the items that are looked at"
NO_FORM: Final = "it has no form in this shape"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How large a context may be, and for whom. Raises nothing: doors check it."""

    max_tokens: int = USUAL_TOKENS
    shape: str = "pieces"

    @property
    def form(self) -> Shape:
        return SHAPES[self.shape]


@dataclass(frozen=True, slots=True, kw_only=True)
class Included:
    """A piece, or an item, that the model is shown; and what it costs."""

    piece: Piece
    tokens: int


@dataclass(frozen=True, kw_only=True)
class Built:
    """A context. `input` is JSON text; `tokens` is the estimate for all of it."""

    wanted: Wanted
    input: str
    tokens: int
    included: tuple[Included, ...]
    dropped: tuple[Dropped, ...]

    @property
    def manifest(self) -> dict[str, Any]:
        """What was in it and what was not: names and sources, and nobody's text."""
        return {
            "included": [_row(one) for one in self.included],
            "dropped": [_gone(one) for one in self.dropped],
        }

    def of_kind(self, kind: str) -> list[Piece]:
        return [one.piece for one in self.included if one.piece.kind == kind]


def build_input(
    wanted: Wanted,
    required: Sequence[Piece],
    optional: Sequence[Piece],
    history: History,
    hidden: Sequence[Dropped] = (),
) -> Built:
    """Step 7: the final input. Raises `context_too_small` (422), with what it `needs`."""
    packing = _Packing(wanted.form, wanted.max_tokens)
    for piece in required:
        packing.add(piece)
    if packing.left < 0:
        needs = wanted.max_tokens - packing.left
        detail = f"At least {needs} tokens are needed."
        raise CONTEXT_TOO_SMALL(detail, needs=needs)
    refused = [_refused(wanted, one) for one in optional if not packing.offer(one)]
    dropped = [*hidden, *refused]
    kept, gone = _fit(packing, history)
    dropped += [*_older(history), *history.dropped, *gone]
    return packing.built(wanted, kept, dropped)


@dataclass(slots=True)
class _Kept:
    group: Group
    texts: list[tuple[Entry, str]]
    tokens: int


class _Packing:
    """Fills the room. What is counted is never less than what comes out."""

    def __init__(self, shape: Shape, most: int) -> None:
        self.shape = shape
        self.left = most - tokens_in(shape.input([], []))
        self.pieces: list[Included] = []

    def add(self, piece: Piece) -> None:
        tokens = tokens_in(self.shape.line(piece))
        self.left -= tokens
        self.pieces.append(Included(piece=piece, tokens=tokens))

    def offer(self, piece: Piece) -> bool:
        if tokens_in(self.shape.line(piece)) > self.left:
            return False
        self.add(piece)
        return True

    def built(
        self, wanted: Wanted, kept: Sequence[_Kept], dropped: Sequence[Dropped]
    ) -> Built:
        texts = [pair for one in kept for pair in one.texts]
        pieces = [one.piece for one in self.pieces]
        text = self.shape.input(pieces, [text for _, text in texts])
        tokens = tokens_in(text)
        assert tokens <= wanted.max_tokens, "more came out than was counted"
        items = [one for each in kept for one in _items(each)]
        return Built(
            wanted=wanted,
            input=text,
            tokens=tokens,
            included=(*self.pieces, *items),
            dropped=tuple(dropped),
        )


def _fit(packing: _Packing, history: History) -> tuple[list[_Kept], list[Dropped]]:
    """All of it if that fits; else the newest, with a summary of what does not."""
    rendered = {id(one): _rendered(packing.shape, one) for one in history.groups}
    formless = [one for one in history.groups if rendered[id(one)] is None]
    whole = [one for one in rendered.values() if one is not None]
    gone = _positions(formless, NO_FORM)
    if sum(one.tokens for one in whole) <= packing.left and history.older_than is None:
        packing.left -= sum(one.tokens for one in whole)
        return whole, gone
    reserve = packing.left // SUMMARY_SHARE
    chosen = _choose(history, rendered, packing.left - reserve)
    packing.left -= sum(one.tokens for one in chosen.values())
    left_out = [one for one in whole if id(one.group) not in chosen]
    _summarise(packing, history, [one.group for one in left_out])
    more = {id(one) for one in whole if id(one.group) not in chosen}
    gone += _positions([one.group for one in whole if id(one) in more], NO_ROOM)
    return [one for one in whole if id(one.group) in chosen], gone


def _choose(
    history: History, rendered: dict[int, _Kept | None], room: int
) -> dict[int, _Kept]:
    """The urgent ones, then from the newest back, as long as there is room."""
    chosen: dict[int, _Kept] = {}
    for group in [*history.urgent, *reversed(history.groups)]:
        one = rendered[id(group)]
        if one is None or id(group) in chosen or one.tokens > room:
            continue
        chosen[id(group)] = one
        room -= one.tokens
    return chosen


def _summarise(packing: _Packing, history: History, groups: list[Group]) -> None:
    """The stored summary of what is left out, if it stands; and lines for the rest."""
    covered = range(0)
    stored = history.summary
    if (
        stored is not None
        and _is_about(stored.positions, history, groups)
        and packing.offer(stored_piece(stored))
    ):
        covered = stored.positions
    rest = [
        one for one in groups if one.first not in covered or one.last not in covered
    ]
    overhead = 40
    piece = extractive_piece(rest, packing.left - overhead) if rest else None
    if piece is not None:
        packing.offer(piece)


def _is_about(positions: range, history: History, groups: list[Group]) -> bool:
    """Whether a summary tells of something that is not shown anyway."""
    older = history.older_than is not None and positions.start < history.older_than
    return older or any(one.first in positions for one in groups)


def _rendered(shape: Shape, group: Group) -> _Kept | None:
    texts = shape.items(group)
    if not texts:
        return None
    tokens = sum(tokens_in(f"{text},") for _, text in texts)
    return _Kept(group=group, texts=texts, tokens=tokens)


def _items(kept: _Kept) -> Iterator[Included]:
    """One line of the list for each item, however many texts it became."""
    costs: dict[int, int] = {}
    for entry, text in kept.texts:
        costs[entry.position] = costs.get(entry.position, 0) + tokens_in(text)
    for entry in kept.group.entries:
        if entry.position in costs:
            piece = _item_piece(kept.group, entry)
            yield Included(piece=piece, tokens=costs[entry.position])


def _item_piece(group: Group, entry: Entry) -> Piece:
    parts = group.parts(entry)
    return Piece(
        key=entry.key,
        kind=parts[0].kind,
        provenance=_source(entry),
        trust=Trust.QUARANTINED if entry.flags else Trust.UNTRUSTED,
        text=told(entry, parts),
        why=_why(group, entry),
        reference=entry.at,
        flags=(*entry.flags, "redacted") if entry.redacted else entry.flags,
    )


def _source(entry: Entry) -> str:
    if entry.has("result"):
        return "tool"
    return "user" if entry.is_from("user") else "model"


def _why(group: Group, entry: Entry) -> str:
    if entry.has("compaction"):
        return "the provider's own compaction, unedited"
    if group.is_observation:
        return "a current observation with its call"
    return "recent history"


def _older(history: History) -> list[Dropped]:
    if history.older_than is None or history.older_than <= 1:
        return []
    last = f"item:{history.older_than - 1}"
    return [Dropped(key="item:1", kind="item", why=TOO_OLD, last=last)]


def _positions(groups: Sequence[Group], why: str) -> list[Dropped]:
    return ranges("item", [one.position for g in groups for one in g.entries], why)


def _refused(wanted: Wanted, piece: Piece) -> Dropped:
    tokens = tokens_in(wanted.form.line(piece))
    return Dropped(key=piece.key, kind=piece.kind, why=NO_ROOM, tokens=tokens)


def _row(one: Included) -> dict[str, Any]:
    piece = one.piece
    return {
        "key": piece.key,
        "kind": piece.kind,
        "provenance": piece.provenance,
        "trust": piece.trust.value,
        "flags": list(piece.flags),
        "tokens": one.tokens,
        "why": piece.why,
    }


def _gone(one: Dropped) -> dict[str, Any]:
    return {
        "key": one.key,
        "last": one.last or None,
        "kind": one.kind,
        "why": one.why,
        "tokens": one.tokens,
    }
