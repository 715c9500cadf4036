from approvals.models.aap import AAPRequest
from approvals.models.comment import Comment
from approvals.models.context import Context, Summary
from approvals.models.decision import Decision, Grant
from approvals.models.delegation import Delegation
from approvals.models.notice import NoticeSettings
from approvals.models.nudge import Nudge
from approvals.models.offer import OfferDismissal
from approvals.models.policy import Policy, PolicyDraft, PolicyRevision
from approvals.models.queue import Queue, QueueGroupPermission, QueueUserPermission
from approvals.models.request import Pause, Request, Revision
from approvals.models.resume import ResumeJob, VerificationReport
from approvals.models.saved_view import SavedView
from approvals.models.sight import Sight
from approvals.models.snooze import Snooze
from approvals.models.standing import StandingApproval
from approvals.models.webhook import (
    Webhook,
    WebhookAttempt,
    WebhookDelivery,
    WebhookSecret,
)

__all__ = [
    "AAPRequest",
    "Comment",
    "Context",
    "Decision",
    "Delegation",
    "Grant",
    "NoticeSettings",
    "Nudge",
    "OfferDismissal",
    "Pause",
    "Policy",
    "PolicyDraft",
    "PolicyRevision",
    "Queue",
    "QueueGroupPermission",
    "QueueUserPermission",
    "Request",
    "ResumeJob",
    "Revision",
    "SavedView",
    "Sight",
    "Snooze",
    "StandingApproval",
    "Summary",
    "VerificationReport",
    "Webhook",
    "WebhookAttempt",
    "WebhookDelivery",
    "WebhookSecret",
]
