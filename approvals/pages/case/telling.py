"""What each state of an approval means, in sentences: what happened, what now."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from approvals.models import VerificationReport
from approvals.pages.case.outcome import is_ready, refusal
from approvals.pages.case.record import CaseRecord
from approvals.presentation.progress import Next, Progress
from checkpoints.models import Tool


def _queued(record: CaseRecord, plain: Progress) -> Progress:
    report, grant = record.report, record.grant
    if report is not None and report.refusal == "wait":
        return replace(
            plain,
            headline="Held back for now",
            sentence=f"{report.reason} Nothing was sent. It is tried again by itself.",
            code=report.code,
            refusal_class="wait",
        )
    if grant is not None and grant.not_before > record.now:
        sentence = "The policy asks for a waiting time. Nothing is sent before it ends."
        return replace(plain, headline="Approved, and waiting", sentence=sentence)
    if not record.jobs:
        sentence = (
            "The run asked several questions at once. Nothing is sent before all of "
            "them are answered."
        )
        headline = "Approved, and waiting for the others"
        return replace(plain, headline=headline, sentence=sentence)
    sentence = "Nothing was sent yet. A worker verifies it again first."
    return replace(plain, headline="Approved", sentence=sentence)


def _verifying(record: CaseRecord, plain: Progress) -> Progress:
    sentence = "Four checks run on live data. Nothing was sent yet."
    return replace(plain, headline="Being verified", sentence=sentence)


def _acting(record: CaseRecord, plain: Progress) -> Progress:
    agent = record.request.agent.name
    if is_ready(record) and record.effect is None:
        return replace(
            plain,
            headline="Verified, ready for its agent",
            sentence=f"{agent} may act once, with exactly these arguments.",
            turn="The key turns for good when the agent redeems the approval. The same "
            "four checks must hold at that moment.",
        )
    managed = record.request.tool.mode == Tool.Mode.MANAGED
    doer = "Keyturn has sent it" if managed else f"{agent} has been let act"
    sentence = f"{doer}; what came of it is not known yet."
    return replace(plain, headline="Under way", sentence=sentence)


def _confirmed(record: CaseRecord, plain: Progress) -> Progress:
    sentence = f"The action happened, once. {record.request.agent.name} is told."
    return replace(plain, headline="Done, and confirmed", sentence=sentence)


def _failed(record: CaseRecord, plain: Progress) -> Progress:
    if record.effect is not None and record.effect.state == "absent":
        sentence = "It is proved that nothing happened. The approval is used up."
        return replace(plain, headline="It did not happen", sentence=sentence)
    sentence = "The action was tried and did not happen. The approval is used up."
    return replace(plain, headline="The other side said no", sentence=sentence)


def _unknown(record: CaseRecord, plain: Progress) -> Progress:
    return replace(
        plain,
        headline="Not known yet",
        sentence="It was sent, and no answer says what came of it. Nothing is sent again "
        "before that is known.",
        coming=(
            Next(icon="refresh", text="The other side is asked by the effect’s key."),
            Next(
                icon="people",
                text="If it cannot tell, a person records the outcome.",
                note="Nothing is guessed.",
            ),
        ),
    )


def _needs_attention(record: CaseRecord, plain: Progress) -> Progress:
    return replace(
        plain,
        headline="A person has to look at this",
        sentence=record.request.run.reason or "By itself, nothing more can be proved.",
        coming=(
            Next(
                icon="people",
                text="Find out on the other side whether it happened.",
                note="An administrator records the outcome, with evidence.",
            ),
        ),
    )


def _refused(record: CaseRecord, plain: Progress) -> Progress:
    report = refusal(record)
    assert report is not None
    return replace(
        plain,
        headline="Not sent",
        sentence=f"{report.reason} Nothing was sent.",
        code=report.code,
        refusal_class=report.refusal,
        revoke_href="",
        coming=_after_refusal(record, report),
    )


def _after_refusal(record: CaseRecord, report: VerificationReport) -> tuple[Next, ...]:
    agent, number = record.request.agent.name, record.revision.number
    if report.refusal == "reopen" and record.is_open:
        return (
            Next(
                icon="reopened",
                text=f"The same action is asked again, as revision {number}.",
                note="Under today’s policy, of today’s people. Earlier keys count no more.",
            ),
            Next(icon="agent", text=f"{agent} still waits."),
        )
    if record.request.run.state == "needs_attention":
        text = "The run waits for a person: what is stored is not what was agreed."
        return (Next(icon="warn", text=text),)
    return (Next(icon="agent", text=f"{agent} is told that it may not act."),)


TELLING: Final[Mapping[str, Callable[[CaseRecord, Progress], Progress]]] = {
    "queued": _queued,
    "verifying": _verifying,
    "acting": _acting,
    "confirmed": _confirmed,
    "failed": _failed,
    "unknown": _unknown,
    "needs_attention": _needs_attention,
    "refused": _refused,
}
