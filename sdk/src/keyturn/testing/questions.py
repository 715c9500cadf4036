"""Approvals and effects of the server in memory."""

from __future__ import annotations

import json
from hashlib import sha256
from uuid import uuid4

from keyturn.testing.rows import Asked, Json, Refuse, row
from keyturn.testing.runs import Runs

DECIDE_WITHIN = 86_400
ACT_WITHIN = 300


class Questions(Runs):
    """What people answer, and what comes of it."""

    def request(self, asked: Asked) -> tuple[int, Json]:
        run = self._run_for(asked)
        position = {
            "parent": run["head"] and run["head"]["number"],
            "payload": "",
            "schema_version": 1,
        }
        self.add_checkpoint(run, position)
        approval = self.ask(run, asked.body, str(uuid4()))
        return 201, {**self.seen(approval), "fence": run["fence"]}

    def _run_for(self, asked: Asked) -> Json:
        if "run" in asked.body:
            run = self.written(Asked(["", asked.body["run"]], {}, asked.fence))
            run["asks_only"] = False
            return run
        session = asked.body.get("session")
        if session is None:
            subject = asked.body.get("subject", "unspecified")
            session = self.open_session(Asked([], {"subject": subject}, 0))[1]["id"]
        return self.new_run(self.session(session)["id"], asks_only=True)

    def pause(self, asked: Asked) -> tuple[int, Json]:
        run = self.written(asked)
        if run["state"] != "running":
            raise Refuse(409, "pause_open")
        run["asks_only"] = False
        saved, pause = self.add_checkpoint(run, asked.body["checkpoint"]), str(uuid4())
        asks = [self.ask(run, one, pause) for one in asked.body["requests"]]
        return 201, {
            "pause": pause,
            "checkpoint": saved,
            "requests": [self.seen(one) for one in asks],
        }

    def ask(self, run: Json, body: Json, pause: str) -> Json:
        approval = {
            "id": str(uuid4()),
            "run": run["id"],
            "session": run["session"],
            "pause": pause,
            "queue": "default",
            "tool": body["tool"],
            "mode": "agent",
            "tool_call_id": body.get("tool_call_id"),
            "status": "pending",
            "revision": 1,
            "digest": "",
            "arguments": body["arguments"],
            "target": body.get("target"),
            "title": body["tool"],
            "explanation": body.get("explanation", ""),
            "risk": body.get("risk", "high"),
            "reason": "",
            "response": None,
            "effect": None,
            "verification": None,
            "decisions": [],
            "decide_by": self.later(body.get("decide_within", DECIDE_WITHIN)),
            "use_until": None,
            "context": body.get("context"),
            "created_at": self.time(),
        }
        approval["review_url"] = f"https://keyturn.test/r/{approval['id']}"
        self.approvals[approval["id"]] = approval
        run["state"] = "paused"
        run["open_requests"] = [*run["open_requests"], approval["id"]]
        return approval

    def get_approval(self, asked: Asked) -> tuple[int, Json]:
        approval = self.approval(asked.id)
        wait = float(asked.body.get("wait", 0))
        if approval["status"] == "pending":
            self.decide(approval)
        if self.seen(approval)["next"] == "wait":
            self.pass_time(wait)
        if wait and approval["status"] == "pending":
            self.decide(approval)
        if approval["status"] == "pending" and self.time() >= approval["decide_by"]:
            approval["status"] = "expired"
        self._go_on(approval["run"])
        return 200, self.seen(approval)

    def list_approvals(self, asked: Asked) -> tuple[int, Json]:
        found = [
            self.seen(one)
            for one in reversed(self.approvals.values())
            if asked.body.get("run") in (None, one["run"])
            and asked.body.get("status") in (None, one["status"])
        ]
        return 200, {"items": found, "next": None}

    def seen(self, approval: Json) -> Json:
        """The document, with what to do next."""
        status, effect = approval["status"], approval["effect"]
        open_effect = effect is not None and effect["state"] in ("started", "unknown")
        resolved = status not in ("pending", "changes_requested", "approved")
        resolved = resolved and not open_effect
        nexts = {"changes_requested": "revise", "approved": "redeem"}
        if effect is not None and effect["state"] == "started":
            nexts["consumed"] = "redeem"
        ends = {"answered": "use_answer", "consumed": "done"}
        step = nexts.get(status) or (ends.get(status, "stop") if resolved else "wait")
        return {**approval, "resolved": resolved, "next": step}

    def revise(self, asked: Asked) -> tuple[int, Json]:
        approval = self.approval(asked.id)
        if approval["status"] != "changes_requested":
            raise Refuse(409, "not_revisable")
        changed = {"arguments": asked.body["arguments"], "status": "pending"}
        approval |= {**changed, "revision": approval["revision"] + 1}
        return 200, self.seen(approval)

    def withdraw(self, asked: Asked) -> tuple[int, Json]:
        approval = self.approval(asked.id)
        if approval["status"] == "consumed":
            raise Refuse(409, "too_late")
        approval |= {"status": "cancelled", "reason": asked.body["reason"]}
        self._go_on(approval["run"])
        return 200, self.seen(approval)

    def redeem(self, asked: Asked) -> tuple[int, Json]:
        approval = self.approval(asked.id)
        self.written(Asked(["", approval["run"]], {}, asked.fence))
        if approval["status"] not in ("approved", "consumed"):
            raise Refuse(409, "not_approved")
        effect = approval["effect"]
        if effect is not None and effect["state"] != "started":
            raise Refuse(409, "not_approved")
        return 200, self._hand_over(approval, asked.fence)

    def _hand_over(self, approval: Json, fence: int) -> Json:
        if approval["effect"] is None:
            action = [approval["id"], approval["tool"], approval["arguments"]]
            key = sha256(json.dumps(action, sort_keys=True).encode()).hexdigest()
            effect = {"id": str(uuid4()), "key": key, "state": "started"}
            approval["effect"] = effect | {"external_id": "", "attempt": 1}
            held = {"approval": approval["id"], "fence": fence}
            self.effects[effect["id"]] = held | {"not_after": self.later(ACT_WITHIN)}
            approval["status"] = "consumed"
        effect = approval["effect"]
        handed = {
            "id": effect["id"],
            "tool": approval["tool"],
            "target": approval["target"],
            "arguments": approval["arguments"],
            "idempotency_key": effect["key"],
            "fencing_token": self.effects[effect["id"]]["fence"],
            "not_after": self.effects[effect["id"]]["not_after"],
            "attempt": 1,
        }
        checks = {"outcome": "passed", "checks": []}
        return {"effect": handed, "token": "fake", "verification": checks}

    def get_effect(self, asked: Asked) -> tuple[int, Json]:
        held = row(self.effects, asked.id)
        approval = self.approvals[held["approval"]]
        effect = approval["effect"]
        attempt = {
            "number": 1,
            "fence": held["fence"],
            "send_before": held["not_after"],
            "outcome": effect["state"],
            "ended_at": None,
        }
        return 200, {
            **{name: approval[name] for name in ("run", "tool", "target", "arguments")},
            **{
                name: effect[name] for name in ("id", "state", "attempt", "external_id")
            },
            "request": approval["id"],
            "idempotency_key": effect["key"],
            "attempts": [attempt],
            "created_at": self.time(),
            "ended_at": None,
        }

    def report(self, asked: Asked) -> tuple[int, Json]:
        held = self.effects.get(asked.id)
        if held is None:
            raise Refuse(404, "not_found")
        approval = self.approvals[held["approval"]]
        if asked.fence not in (held["fence"], self.runs[approval["run"]]["fence"]):
            raise Refuse(409, "stale_writer")
        told = asked.body["outcome"], asked.body.get("external_id", "")
        if held.setdefault("told", told) != told:
            raise Refuse(409, "outcome_conflict")
        approval["effect"] |= {"state": told[0], "external_id": told[1]}
        if told[0] == "unknown":
            self.runs[approval["run"]]["state"] = "needs_attention"
        self._go_on(approval["run"])
        return 200, approval["effect"]

    def _go_on(self, run_id: str) -> None:
        run = self.runs[run_id]
        of_run = [one for one in self.approvals.values() if one["run"] == run_id]
        still = [one["id"] for one in of_run if not self.seen(one)["resolved"]]
        run["open_requests"] = still
        if run["state"] == "paused" and not still:
            run["state"] = "running"
