"""A person's browser before one stage: pages as values, forms as they are posted."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.test import Client

from approvals.presentation.case import CaseView
from approvals.presentation.queue import QueueView
from tests.approvals.stage import Stage
from tests.factories import Somebody


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Somebody who reads and answers through the pages alone."""

    stage: Stage
    client: Client

    @property
    def home(self) -> str:
        return f"/t/{self.stage.house.tenant.slug}"

    def get(self, path: str, **options: Any) -> Any:
        return self.client.get(f"{self.home}/{path}", **options)

    def queue(self, query: str = "") -> QueueView:
        found: QueueView = self._shown(f"queue{query}")["queue"]
        return found

    def case(self, id: UUID) -> CaseView:
        found: CaseView = self._shown(f"queue/{id}")["case"]
        return found

    def post(self, path: str, said: dict[str, str], **options: Any) -> Any:
        """A form of ours, with the token that the page before it gave out."""
        if "keyturn_csrf" not in self.client.cookies:
            self.get("queue")
        token = self.client.cookies["keyturn_csrf"].value
        data = {"csrfmiddlewaretoken": token, **said}
        return self.client.post(f"{self.home}/{path}", data, **options)

    def decide(self, id: UUID, verdict: str, **said: str) -> Any:
        """Answer what is on the screen now, unless another digest is given."""
        said.setdefault("digest", self.case(id).exact.digest)
        return self.post(f"requests/{id}/decide", {"verdict": verdict, **said})

    def _shown(self, path: str) -> Any:
        response = self.get(path)
        assert response.status_code == 200, response.status_code
        return response.context


def reader(stage: Stage, somebody: Somebody | None = None) -> Reader:
    """Bob's browser, or another person's."""
    return Reader(stage=stage, client=(somebody or stage.bob).browser())
