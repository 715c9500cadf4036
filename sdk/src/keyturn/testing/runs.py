"""Sessions, runs and checkpoints of the server in memory."""

from __future__ import annotations

from hashlib import sha256
from uuid import uuid4

from keyturn.testing.rows import OPEN, Asked, Json, Refuse, Rows


class Runs(Rows):
    """What agents write."""

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

    def new_run(
        self, session: str, name: str | None = None, *, asks_only: bool = False
    ) -> Json:
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
            "asks_only": asks_only,
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
        run |= {"version": run["version"] + 1, "asks_only": False}
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
        run["asks_only"] = False
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
