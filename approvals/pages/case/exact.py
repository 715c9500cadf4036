"""The frame: exactly what would run, from the sealed bytes and nowhere else."""

from dataclasses import replace
from typing import Any, Final

from approvals.envelope import Envelope
from approvals.models import Revision
from approvals.pages.addresses import address, short_name
from approvals.pages.case.record import CaseRecord
from approvals.pages.disguise import count_disguised
from approvals.pages.sealed import sealed_expiry, sealed_record
from approvals.presentation.arguments import argument_tree, exact_text, money
from approvals.presentation.case import (
    ChangeRow,
    Changes,
    Compared,
    ExactAction,
    SecretRow,
)
from approvals.presentation.differences import differences
from approvals.presentation.moved import Moved, moved
from approvals.services.editing import same
from approvals.target import stands_in
from checkpoints.models import Tool
from checkpoints.secrets import PREFIX, Use
from kernel.canonical import canonical_bytes


def exact_action(record: CaseRecord) -> ExactAction:
    """All of it. The digest is computed from the bytes that are shown."""
    secrets = tuple(_secret(record, use) for use in record.secrets)
    exact = exact_of(record.request.tool, record.envelope, secrets)
    return replace(exact, target_is_older=_is_older(record))


def _is_older(record: CaseRecord) -> bool:
    """Whether its target was named for other arguments, and repeats none of these."""
    before, now = _asked_by(record.before), _asked_by(record.envelope)
    if before is None or now is None or now["target"] is None:
        return False
    changed = not same(before["arguments"], now["arguments"])
    return changed and not stands_in(now["target"], now["arguments"])


def exact_of(
    registered: Tool, envelope: Envelope, secrets: tuple[SecretRow, ...] = ()
) -> ExactAction:
    """The action inside an envelope, drawn by the schema of the tool that it names."""
    sealed = sealed_record(envelope)
    tool = sealed.get("tool", {})
    arguments, target = sealed.get("arguments", {}), sealed.get("target")
    return ExactAction(
        tool=str(tool.get("name", registered.name)),
        mode=str(tool.get("mode", registered.mode)),
        arguments=argument_tree(arguments, registered.definition.get("schema")),
        target=target_text(target),
        digest=envelope.digest.hex(),
        envelope=envelope.content.decode(errors="replace"),
        size=len(canonical_bytes(arguments)),
        money=money(arguments),
        disguised=count_disguised([arguments, target]),
        secrets=secrets,
    )


def _secret(record: CaseRecord, use: Use) -> SecretRow:
    return SecretRow(
        name=f"{PREFIX}{use.name}",
        place=use.pointer,
        tool=record.request.tool.name,
        host=use.host,
        why=use.why.title if use.why else "",
    )


def target_text(target: Any) -> str:
    return "" if target is None else exact_text(target)


def changes(record: CaseRecord) -> tuple[Changes, ...]:
    """What differs from the revision before, if that one can still be read."""
    earlier = _action_parts(record.before)
    if earlier is None or not record.sealed:
        return ()
    found = differences(earlier, _action_parts(record.envelope))
    return (
        Changes(
            since=f"Since revision {record.revision.number - 1}",
            rows=tuple(
                ChangeRow(pointer=one.pointer, before=one.before, after=one.after)
                for one in found
            ),
            by=author_of(record, record.revision),
            reason=_words_of_author(record),
            expiry=_expiry(record) if record.is_open else None,
        ),
    )


def _expiry(record: CaseRecord) -> Moved | None:
    """Each revision has its own time to decide."""
    if record.before is None:
        return None
    return moved(sealed_expiry(record.before), sealed_expiry(record.envelope))


MOST_DIFFERENCES: Final = 12


def compared(record: CaseRecord) -> Compared | None:
    """What differs from what the agent was last allowed to do with this tool."""
    last = record.alike
    earlier = _asked(last.envelope) if last else None
    asked = _asked(record.envelope)
    if last is None or earlier is None or asked is None:
        return None
    found = differences(earlier, asked)
    return Compared(
        label=short_name("REQ", last.id),
        href=address("case", record.slug, last.id),
        at=last.decided_at,
        rows=tuple(
            ChangeRow(pointer=one.pointer, before=one.before, after=one.after)
            for one in found[:MOST_DIFFERENCES]
        ),
        more=max(0, len(found) - MOST_DIFFERENCES),
    )


def _asked_by(envelope: Envelope | None) -> dict[str, Any] | None:
    return _asked(envelope) if envelope else None


def _asked(envelope: Envelope) -> dict[str, Any] | None:
    record = sealed_record(envelope)
    return {n: record[n] for n in ("arguments", "target")} if record else None


def author_of(record: CaseRecord, revision: Revision) -> str:
    """Whose wording a revision is."""
    if revision.author_type == "member":
        return record.name(revision.author_id)
    return "Keyturn" if revision.author_type == "system" else record.request.agent.name


def _words_of_author(record: CaseRecord) -> str:
    """Why a person or an agent worded it anew; our own reason stands in the notice."""
    is_ours = record.revision.author_type == "system"
    return "" if is_ours else record.revision.reason


def _action_parts(envelope: Envelope | None) -> dict[str, Any] | None:
    record = sealed_record(envelope) if envelope else None
    if not record:
        return None
    parts = ("arguments", "target", "preconditions")
    return {"tool": record["tool"]["name"]} | {name: record[name] for name in parts}
