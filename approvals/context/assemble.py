"""The context of a run's next step, built in seven steps and always in this order.

What authority rests on comes from typed state alone. The same rows give the same bytes:
no time of day is in them, but whether a fact has outlived its `max_age`.
"""

import hashlib
from typing import Any, Final

from approvals.context.build import Built, Wanted, build_input
from approvals.context.history import attach_observations, reduce_history
from approvals.context.pieces import json_of
from approvals.context.records import (
    Find,
    check_checkpoint,
    current_rules,
    fetch_relevant,
    load_records,
)
from approvals.context.state import (
    facts_left_out,
    pending_piece,
    rule_pieces,
    state_pieces,
)
from sessions.models import Run

DOMAIN: Final = b"keyturn/context/v1\0"


class Assembled:
    """A context of one run as its document, and the digest of that."""

    def __init__(self, run: Run, built: Built) -> None:
        self.run, self.built = run, built
        self.text = _document(run, built)
        self.digest = hashlib.sha256(DOMAIN + self.text.encode()).digest()

    @property
    def document(self) -> str:
        """The JSON text that doors answer with."""
        return f'{self.text[:-1]},"digest":"{self.digest.hex()}"}}'


def assemble(find: Find, wanted: Wanted) -> Assembled:
    """What the model should see now. Inside the tenant's scope; reads only.

    `find` authorises: it raises before anything is assembled, and before a checkpoint
    or an item is read. Raises `context_too_small` (422) too.
    """
    records = load_records(find)
    standing = check_checkpoint(records)
    relevant = fetch_relevant(records)
    history = reduce_history(relevant, wanted.form.form)
    history = attach_observations(history)
    rules = current_rules(records, history.called)
    state = list(state_pieces(records, standing))
    pieces = [
        *rule_pieces(records, rules, wanted.max_tokens),
        *state,
        *map(pending_piece, history.pending),
    ]
    required = [one for one in pieces if one.required]
    optional = [one for one in pieces if not one.required]
    hidden = facts_left_out(records)
    built = build_input(wanted, required, optional, history, hidden)
    return Assembled(records.run, built)


def _document(run: Run, built: Built) -> str:
    head = {
        "run": str(run.id),
        "session": str(run.session_id),
        "version": run.version,
        "shape": built.wanted.shape,
        "max_tokens": built.wanted.max_tokens,
        "tokens": built.tokens,
    }
    manifest: dict[str, Any] = built.manifest
    if built.wanted.shape == "pieces":
        for row, one in zip(manifest["included"], built.included, strict=True):
            row["text"] = one.piece.text
    return f'{json_of({**head, **manifest})[:-1]},"input":{built.input}}}'
