"""What agents record in sessions, and contexts as they come out of the door."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sessions.contract import Claim
from sessions.models import Provenance, Run
from sessions.services import append_items, record_transition
from tests.approvals.stage import Stage
from tests.factories import Machine

type Item = dict[str, Any]


def said(role: str, text: str) -> Item:
    return {"role": role, "content": text}


def call(id: str, name: str = "look", **arguments: Any) -> Item:
    given = {"call_id": id, "name": name, "arguments": json.dumps(arguments)}
    return {"type": "function_call", **given}


def result(id: str, output: str) -> Item:
    return {"type": "function_call_output", "call_id": id, "output": output}


def reasoning(secret: str = "gAAA") -> Item:
    return {
        "type": "reasoning",
        "id": f"rs_{secret}",
        "summary": [],
        "encrypted_content": secret,
    }


@dataclass(kw_only=True)
class Desk:
    """A run whose session somebody talks in."""

    stage: Stage
    run: Run
    _spoken: int = field(default=0)

    @property
    def robot(self) -> Machine:
        return self.stage.house.robot

    def say(self, *items: Item | str) -> None:
        """Append items: objects, or the exact texts."""
        texts = [one if isinstance(one, str) else json.dumps(one) for one in items]
        append_items(
            who=self.robot.principal,
            session_id=self.run.session_id,
            items=texts,
            run_id=self.run.id,
            fence=self.run.fence,
        )

    def state(self, provenance: Provenance = Provenance.TOOL, **facts: Any) -> None:
        self.run = self.stage.fresh(self.run)
        record_transition(
            who=self.robot.principal,
            run_id=self.run.id,
            fence=self.run.fence,
            expected_version=self.run.version,
            facts={
                name: Claim(
                    value=value,
                    provenance=provenance,
                    reference="ref/1",
                    evidence_digest="sha256:1",
                )
                for name, value in facts.items()
            },
            reason="observed",
        )

    def get(self, query: str = "", **headers: str) -> Any:
        place = f"/api/v1/runs/{self.run.id}/context{query}"
        return self.robot.client().get(place, headers=headers)

    def context(self, query: str = "") -> Any:
        answer = self.get(query)
        assert answer.status_code == 200, answer.content
        return answer.json()

    def post(self, place: str, **body: Any) -> Any:
        return self.robot.client().post(
            f"/api/v1/{place}", body, content_type="application/json"
        )

    def record(self, **body: Any) -> Any:
        return self.post(f"runs/{self.run.id}/context", **body)

    def summarise(self, **body: Any) -> Any:
        return self.post(f"sessions/{self.run.session_id}/summaries", **body)


def keys(context: Any, kind: str | None = None) -> list[str]:
    rows: Sequence[Any] = context["included"]
    return [row["key"] for row in rows if kind in (None, row["kind"])]


def texts(context: Any, kind: str) -> str:
    rows = [row["text"] for row in context["included"] if row["kind"] == kind]
    return "\n".join(rows)


def dropped(context: Any) -> dict[str, str]:
    return {row["key"]: row["why"] for row in context["dropped"]}
