"""A tenant with a webhook, and a worker's turn at hand."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Self
from uuid import UUID

from django.db.models import F

from approvals.happenings import EVENT_TYPES
from approvals.models import Webhook, WebhookAttempt, WebhookDelivery
from approvals.resume.delivering import deliver
from approvals.services.webhooks import create_webhook
from kernel.scope import tenant_transaction
from tests.approvals.stage import Stage
from tests.approvals.webhooks.receiver import Receiver


@dataclass(frozen=True, kw_only=True)
class Listening:
    stage: Stage
    receiver: Receiver
    webhook: Webhook
    secret: str

    @classmethod
    def to(cls, stage: Stage, receiver: Receiver, *types: str, **options: Any) -> Self:
        """Created by the owner; of all types unless some are named."""
        made = create_webhook(
            tenant_id=stage.tenant_id,
            by=stage.house.alice.id,
            url=receiver.url,
            event_types=types or EVENT_TYPES,
            **options,
        )
        return cls(
            stage=stage, receiver=receiver, webhook=made.webhook, secret=made.secret
        )

    def deliveries(self) -> list[WebhookDelivery]:
        with tenant_transaction(self.stage.tenant_id):
            rows = WebhookDelivery.objects.filter(webhook=self.webhook)
            return list(rows.order_by("created_at", "id"))

    def attempts(self) -> list[WebhookAttempt]:
        with tenant_transaction(self.stage.tenant_id):
            rows = WebhookAttempt.objects.filter(delivery__webhook=self.webhook)
            return list(rows.order_by("created_at"))

    def now(self) -> Webhook:
        return self.stage.fresh(self.webhook)

    def turn(self, delivery: UUID | None = None) -> int:
        """A worker is handed a message; how many attempts it made."""
        due = [one for one in self.deliveries() if one.due_at is not None]
        return deliver(delivery or due[0].id) if due or delivery else 0

    def let_pass(self, passed: timedelta) -> None:
        """As if so much time had gone by, for all that waits for its time."""
        with tenant_transaction(self.stage.tenant_id):
            WebhookDelivery.objects.filter(
                webhook=self.webhook, due_at__isnull=False
            ).update(due_at=F("due_at") - passed)
            rows = Webhook.objects.filter(id=self.webhook.id)
            rows.filter(resting_until__isnull=False).update(
                resting_until=F("resting_until") - passed
            )
            rows.filter(busy_until__isnull=False).update(
                busy_until=F("busy_until") - passed
            )
