"""A server in memory: as much of the API as the SDK's own flows use, and one agent.

It keeps to the real one's order of things (fence, idempotency, single use), and judges
nothing: no policy, no schema, no scope. The SDK's tests run against both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from hashlib import sha256
from typing import Any
from uuid import uuid4

import httpx

Json = dict[str, Any]
START = datetime(2030, 1, 1, tzinfo=UTC)
DECIDE_WITHIN = 86_400
ACT_WITHIN = 300
TOO_LONG = 400 * 86_400
OPEN = frozenset({"pending", "changes_requested", "approved"})


class Refuse(Exception):
    """An answer that is no success."""

    def __init__(self, status: int, code: str, **more: Any) -> None:
        self.status = status
        self.document = {"code": code, "status": status, "detail": code, **more}


@dataclass
class Server:
    """`decide` is called with each open question whenever somebody looks at it."""

    decide: Callable[[Json], None]
    seconds: float = 0.0
    sessions: dict[str, Json] = field(default_factory=dict)
    runs: dict[str, Json] = field(default_factory=dict)
    checkpoints: dict[str, list[Json]] = field(default_factory=dict)
    approvals: dict[str, Json] = field(default_factory=dict)
    effects: dict[str, Json] = field(default_factory=dict)
    items: dict[str, list[Json]] = field(default_factory=dict)
    kept: dict[str, tuple[bytes, int, Json]] = field(default_factory=dict)

    def handle(self, request: httpx.Request) -> httpx.Response:
        try:
            status, document = self._once(request)
        except Refuse as refused:
            return httpx.Response(refused.status, json=refused.document)
        told = {"Date": format_datetime(self._now(), usegmt=True)}
        return httpx.Response(status, json=document, headers=told)

    def _now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    def time(self) -> str:
        return self._now().isoformat()

    def age(self, approval: Json) -> float:
        asked = datetime.fromisoformat(approval["created_at"])
        return (datetime.fromisoformat(self.time()) - asked).total_seconds()

    # -- Finding the door -----------------------------------------------------------------

    def _once(self, request: httpx.Request) -> tuple[int, Json]:
        key = request.headers.get("Idempotency-Key")
        if key is None:
            return self._answer(request)
        fingerprint = sha256(
            b"\0".join([request.url.raw_path, request.content])
        ).digest()
        if key in self.kept:
            known, status, document = self.kept[key]
            if known != fingerprint:
                raise Refuse(422, "idempotency_mismatch")
            return status, document
        status, document = self._answer(request)
        document = json.loads(json.dumps(document))
        self.kept[key] = fingerprint, status, document
        return status, document

    def _answer(self, request: httpx.Request) -> tuple[int, Json]:
        words = request.url.path.removeprefix("/api/v1/").split("/")
        query = dict(request.url.params)
        body = json.loads(request.content) if request.content else query
        name = f"{request.method} {words[0]}{' …' if len(words) > 1 else ''}"
        name += f" {words[2]}" if len(words) > 2 else ""
        fence = int(request.headers.get("Keyturn-Fence", "-1"))
        door = _DOORS.get(name)
        if door is None:
            raise Refuse(501, "not_in_the_fake", detail=f"{name} is not played here")
        return door(self, Asked(words, body, fence))

    # -- Sessions, runs, checkpoints ------------------------------------------------------

    def open_session(self, asked: Asked) -> tuple[int, Json]:
        name = asked.body.get("external_id")
        for known in self.sessions.values():
            if name is not None and known["external_id"] == name:
                return 201, known
        session = {
            "id": str(uuid4()),
            "subject": asked.body["subject"],
            "title": asked.body.get("title", ""),
            "external_id": name,
            "state": "open",
            "created_at": self.time(),
        }
        self.sessions[session["id"]] = session
        return 201, session

    def append_items(self, asked: Asked) -> tuple[int, Json]:
        held = self.items.setdefault(self.session(asked.id)["id"], [])
        added = []
        for data in asked.body["items"]:
            item = {
                "id": str(uuid4()),
                "position": len(held) + 1,
                "run": asked.body.get("run"),
                "data": data,
                "fence": asked.fence if "run" in asked.body else None,
                "branch": 0,
                "created_at": self.time(),
            }
            held.append(item)
            added.append({"id": item["id"], "position": item["position"]})
        return 201, {"items": added}

    def list_items(self, asked: Asked) -> tuple[int, Json]:
        held = self.items.get(self.session(asked.id)["id"], [])
        limit = int(asked.body.get("limit", 50))
        return 200, {"items": held[-limit:], "more": len(held) > limit}

    def start_run(self, asked: Asked) -> tuple[int, Json]:
        name = asked.body.get("external_id")
        for known in self.runs.values():
            same = known["session"] == asked.id and known["external_id"] == name
            if name is not None and same:
                return 200, known
        return 201, self.new_run(self.session(asked.id)["id"], name)

    def new_run(self, session: str, name: str | None = None) -> Json:
        run: Json = {
            "id": str(uuid4()),
            "session": session,
            "state": "running",
            "workflow": "default",
            "workflow_version": 1,
            "stage": "",
            "external_id": name,
            "fence": 1,
            "lease_until": None,
            "head": None,
            "version": 0,
            "reason": "",
            "result": None,
            "created_at": self.time(),
            "ended_at": None,
            "branch": 0,
            "facts": {},
            "open_requests": [],
        }
        self.runs[run["id"]] = run
        self.checkpoints[run["id"]] = []
        return run

    def claim(self, asked: Asked) -> tuple[int, Json]:
        run = self.run(asked.id)
        run["fence"] += 1
        return 200, run

    def heartbeat(self, asked: Asked) -> tuple[int, Json]:
        return 200, self.written(asked)

    def record(self, asked: Asked) -> tuple[int, Json]:
        run = self.written(asked)
        if asked.body["expected_version"] != run["version"]:
            raise Refuse(409, "stale_version")
        run["version"] += 1
        run["stage"] = asked.body.get("stage", run["stage"])
        unsaid = {"reference": "", "evidence_digest": "", "age_seconds": 0.0}
        unsaid |= {"lapsed": False}
        for name, fact in asked.body.get("facts", {}).items():
            run["facts"][name] = {
                **unsaid,
                **fact,
                "observed_at": self.time(),
                "version": run["version"],
            }
        return 201, {"version": run["version"], "seq": run["version"]}

    def save(self, asked: Asked) -> tuple[int, Json]:
        run = self.written(asked)
        if run["state"] == "paused":
            raise Refuse(409, "pause_open")
        return 201, self.add_checkpoint(run, asked.body)

    def add_checkpoint(self, run: Json, position: Json) -> Json:
        number = run["head"] and run["head"]["number"]
        if position["parent"] != number:
            raise Refuse(409, "stale_checkpoint")
        saved = {
            "closes": [],
            "payload_encoding": "text",
            "header": {},
            **position,
            "id": str(uuid4()),
            "run": run["id"],
            "number": (number or 0) + 1,
            "digest": sha256(position["payload"].encode()).hexdigest(),
            "created_at": self.time(),
        }
        self.checkpoints[run["id"]].append(saved)
        run["head"] = {"number": saved["number"], "digest": saved["digest"]}
        return saved

    def get_checkpoint(self, asked: Asked) -> tuple[int, Json]:
        held = self.checkpoints[self.run(asked.id)["id"]]
        wanted = asked.words[3]
        found = held[-1:] if wanted == "head" else held[int(wanted) - 1 : int(wanted)]
        if not found:
            raise Refuse(404, "not_found")
        return 200, found[0]

    def end_run(self, asked: Asked) -> tuple[int, Json]:
        run = self.written(asked)
        to = {"complete": "completed", "fail": "failed", "cancel": "cancelled"}
        word = asked.words[2]
        if word == "complete" and run["state"] != "running":
            raise Refuse(409, "pause_open")
        ended = {"result": asked.body.get("result"), "ended_at": self.time()}
        run |= {**ended, "state": to[word], "reason": asked.body.get("reason", "")}
        for one in self.approvals.values():
            if one["run"] == run["id"] and one["status"] in OPEN:
                one["status"] = "cancelled"
        return 200, run

    # -- Approvals and effects ------------------------------------------------------------

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
            return self.written(Asked(["", asked.body["run"]], {}, asked.fence))
        session = asked.body.get("session")
        if session is None:
            subject = asked.body.get("subject", "unspecified")
            session = self.open_session(Asked([], {"subject": subject}, 0))[1]["id"]
        return self.new_run(self.session(session)["id"])

    def pause(self, asked: Asked) -> tuple[int, Json]:
        run = self.written(asked)
        if run["state"] != "running":
            raise Refuse(409, "pause_open")
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
            "decide_by": self._in(body.get("decide_within", DECIDE_WITHIN)),
            "use_until": None,
            "context": body.get("context"),
            "created_at": self.time(),
        }
        approval["review_url"] = f"https://keyturn.test/r/{approval['id']}"
        self.approvals[approval["id"]] = approval
        run["state"] = "paused"
        run["open_requests"] = [*run["open_requests"], approval["id"]]
        return approval

    def _in(self, seconds: float) -> str:
        return (self._now() + timedelta(seconds=seconds)).isoformat()

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

    def pass_time(self, seconds: float) -> None:
        self.seconds += seconds
        if self.seconds > TOO_LONG:
            raise AssertionError("this test waits for what will never happen")

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
            self.effects[effect["id"]] = held | {"not_after": self._in(ACT_WITHIN)}
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
        held = _found(self.effects, asked.id)
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

    # -- Rows ------------------------------------------------------------------------------

    def session(self, id: str) -> Json:
        return _found(self.sessions, id)

    def run(self, id: str) -> Json:
        return _found(self.runs, id)

    def approval(self, id: str) -> Json:
        return _found(self.approvals, id)

    def written(self, asked: Asked) -> Json:
        """The run, if the caller is its writer."""
        run = self.run(asked.id)
        if run["ended_at"] is not None:
            raise Refuse(409, "run_ended")
        if asked.fence != run["fence"]:
            raise Refuse(409, "stale_writer")
        return run


@dataclass(frozen=True)
class Asked:
    """One request: the words of its path, its body or query, and its fence."""

    words: list[str]
    body: Json
    fence: int

    @property
    def id(self) -> str:
        return self.words[1]


def _found(rows: Mapping[str, Json], id: str) -> Json:
    if id not in rows:
        raise Refuse(404, "not_found")
    return rows[id]


_DOORS: Mapping[str, Callable[[Server, Asked], tuple[int, Json]]] = {
    "POST sessions": Server.open_session,
    "POST sessions … items": Server.append_items,
    "GET sessions … items": Server.list_items,
    "POST sessions … runs": Server.start_run,
    "GET runs …": lambda server, asked: (200, server.run(asked.id)),
    "POST runs … claim": Server.claim,
    "POST runs … heartbeat": Server.heartbeat,
    "POST runs … transitions": Server.record,
    "POST runs … checkpoints": Server.save,
    "GET runs … checkpoints": Server.get_checkpoint,
    "POST runs … pause": Server.pause,
    "POST runs … complete": Server.end_run,
    "POST runs … fail": Server.end_run,
    "POST runs … cancel": Server.end_run,
    "POST approvals": Server.request,
    "GET approvals": Server.list_approvals,
    "GET approvals …": Server.get_approval,
    "POST approvals … revise": Server.revise,
    "POST approvals … withdraw": Server.withdraw,
    "POST approvals … redeem": Server.redeem,
    "GET effects …": Server.get_effect,
    "POST effects … report": Server.report,
}
