"""Secrets planted on every door are nowhere in plain text afterwards.

One test plants all kinds; a second one shows that the search finds what is there. The
fake credentials are put together here, so that no scanner takes this file for a leak.
"""

import json
import logging
import subprocess
from base64 import b64encode
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client

from approvals.models import Request, ResumeJob
from approvals.resume.work import work
from approvals.services.redeem import redeem
from checkpoints.secrets import variable_of
from checkpoints.services import register_secret
from config.embedded import postgres
from config.embedded.account import postgres_account
from config.embedded.binaries import programs
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from sessions.models import Fact
from tests.api import Api
from tests.approvals.stage import ARGUMENTS, Stage, fresh_stage
from tests.checkpoints.conftest import toolserver
from tests.checkpoints.toolserver import ToolServer
from tests.factories import unique

__all__ = ["toolserver"]


def fill(alphabet: str, length: int) -> str:
    """Text like no other test's, so that what is found was planted here."""
    own = "".join(sorted(set(unique()) & set(alphabet))) or alphabet
    return "".join(islice(cycle(alphabet[::-1] + own), length))


MIXED = "q7RtZ3xKw9LmP2vB" + unique().upper()[-6:] + "8c"
CANARIES: dict[str, str] = {
    "AWS access key": "AK" + "IA" + fill("A2B3C4D5E6F7G2H3", 16),
    "GitHub token": "gh" + "p_" + fill(MIXED, 36),
    "GitLab token": "gl" + "pat-" + fill(MIXED, 24),
    "Slack token": "xo" + "xb-" + fill("0123456789", 12) + "-" + fill(MIXED, 24),
    "Stripe key": "sk" + "_live_" + fill(MIXED, 24),
    "Google API key": "AI" + "za" + fill(MIXED, 35),
    "OpenAI key": "sk-" + "proj-" + fill(MIXED, 60),
    "npm token": "np" + "m_" + fill(MIXED, 36),
    "SendGrid key": "S" + "G." + fill(MIXED, 22) + "." + fill(MIXED, 43),
    "Shopify token": "shp" + "at_" + fill("0a1b2c3d4e5f", 32),
    "HashiCorp Vault token": "hv" + "s." + fill(MIXED, 28),
    "Telegram bot token": "123456789" + ":AA" + fill(MIXED, 33),
    "Azure storage key": "Account" + "Key=" + fill(MIXED, 86) + "==",
    "password in a URL": "postgres://app:" + fill(MIXED, 18) + "@db.internal/app",
    "password or token": "pass" + "word=" + fill(MIXED, 30),
    "private key": "-----BEGIN " + "PRIVATE KEY-----\n" + fill(MIXED, 64) + "\n-----END",
}  # fmt: skip


def needles(secret: str) -> list[str]:
    """What would give a secret away: in text, in JSON, as bytea and in base64."""
    core = max(secret.replace("\n", "=").split("="), key=len)
    core = core.split("app:")[-1].split("@db")[0]
    encoded = b64encode(core.encode()).decode().rstrip("=")[4:-4]
    return [core, core.encode().hex(), encoded]


def dump() -> str:
    """Everything that the database holds, as its administrator would copy it."""
    url = postgres.url(settings.DATA_DIR, "postgres", "keyturn")
    command = [programs(postgres_account()) / "pg_dump", "--data-only", "--dbname", url]
    done = subprocess.run(command, capture_output=True, check=True, timeout=120)
    return done.stdout.decode(errors="replace")


def plant(stage: Stage, api: Api, secret: str) -> tuple[Request, str]:
    """Say it wherever something can be said; where it is refused, see that it is."""
    session = said(api.post("sessions", {"subject": "c-7", "title": f"Use {secret}"}))
    run = said(api.post(f"sessions/{session['id']}/runs", {}))
    at, fence = f"runs/{run['id']}", run["fence"]
    said(api.post(f"sessions/{session['id']}/items", {"items": chat(secret)}))
    keep_file(api, f"sessions/{session['id']}/artifacts", secret)
    facts(api, at, fence, secret)
    header = {"markers": {"note": secret}}
    position = {"parent": None, "schema_version": 1, "payload": secret}
    refused(api.post(f"{at}/checkpoints", position | {"header": header}, fence=fence))
    said(api.post(f"{at}/checkpoints", position, fence=fence, **headers(secret)))
    bad = {"tool": "pay", "arguments": {"payee": secret, "amount": "1.00"}}
    place = refused(api.post("approvals", bad))
    assert place == "/arguments/payee"
    refused(api.post("approvals", asked(target={"to": secret})))
    request = ask(stage, api, secret)
    decide(stage, request, secret)
    report(stage, api, request, secret)
    protocol(stage, secret)
    failed = said(api.post(f"sessions/{session['id']}/runs", {}))
    reason = {"reason": f"It said {secret}"}
    said(api.post(f"runs/{failed['id']}/fail", reason, fence=failed["fence"]))
    return request, run["id"]


def chat(secret: str) -> list[Any]:
    return [
        {"role": "user", "content": f"My key is {secret}"},
        {"type": "function_call", "name": "look", "arguments": json.dumps([secret])},
        {"type": "function_call_output", "output": secret},
    ]


def keep_file(api: Api, place: str, secret: str) -> None:
    """In a file, and in its name: what is in the file comes back, and is nowhere else."""
    named = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(secret)}.txt"}
    content, kind = f"The key is {secret}.".encode(), "text/plain"
    answer = api.client.post(
        f"/api/v1/{place}", content, content_type=kind, headers=named
    )
    told = said(answer)
    assert "[redacted: " in told["name"]
    found = api.get(f"{place}/{told['sha256']}/content")
    assert (found.status_code, found.content) == (200, content)


def stored_files(stage: Stage) -> str:
    """What lies on the storage for the tenant, names and contents."""
    place = Path(settings.STORAGES["artifacts"]["OPTIONS"]["location"])
    files = [one for one in (place / str(stage.tenant_id)).rglob("*") if one.is_file()]
    assert len(files) == len(CANARIES)
    texts = (one.read_bytes().decode(errors="replace") for one in files)
    return "".join([*map(str, files), *texts])


def facts(api: Api, at: str, fence: int, secret: str) -> None:
    claim = {"value": {"a": [secret], secret: 1}, "provenance": "tool"}
    claim |= {"reference": secret, "evidence_digest": "sha256:1"}
    body = {"facts": {"note": claim}, "reason": secret}
    headers = {"If_Match": '"0"'}
    said(api.post(f"{at}/transitions", body, fence=fence, **headers))


def headers(secret: str) -> dict[str, str]:
    plain = secret.replace("\n", "").replace(" ", "")
    key = f"{plain}/{unique()}"
    return {"Idempotency_Key": key, "User_Agent": plain, "X_Note": plain}


def asked(**more: Any) -> dict[str, Any]:
    return {"tool": "pay", "arguments": ARGUMENTS, **more}


def ask(stage: Stage, api: Api, secret: str) -> Request:
    body = asked(explanation=f"The note says {secret}.")
    made = said(api.post("approvals", body, **headers(secret)))
    with tenant_transaction(stage.tenant_id):
        return Request.objects.select_related("run").get(id=UUID(made["id"]))


def decide(stage: Stage, request: Request, secret: str) -> None:
    edited = {"payee": secret, "amount": "1.00"}
    with pytest.raises(Problem, match="secret_in_arguments"):
        stage.answer(request, verdict="edit", arguments=edited)
    stage.answer(request, reason=f"It is {secret}")


def report(stage: Stage, api: Api, request: Request, secret: str) -> None:
    who = stage.house.robot.principal
    started = redeem(who, request_id=request.id, fence=request.run.fence)
    body = {"outcome": "confirmed", "attempt": 1, "evidence": {"body": f"ok {secret}"}}
    answer = api.post(
        f"effects/{started.effect.id}/report",
        body | {"external_id": secret[:255]},
        fence=started.attempt.fence,
    )
    said(answer)


def protocol(stage: Stage, secret: str) -> Request:
    """The Agent Approval Protocol returns what it was given; nobody else sees it."""
    body = asked(timeout="10m", agent_reasoning=secret, context={"key": secret})
    place = "/api/aap/v1/requests"
    for bad in ({"server": secret}, {"arguments": {**ARGUMENTS, "payee": secret}}):
        assert submit(stage, place, body | bad, secret).status_code == 400
    told = said(submit(stage, place, body, secret))
    assert (told["agent_reasoning"], told["context"]) == (secret, {"key": secret})
    with tenant_transaction(stage.tenant_id):
        request = Request.objects.get(id=UUID(told["id"]))
    stage.answer(request)
    said(submit(stage, f"{place}/{told['id']}/consume", None, secret))
    outcome = {"status": "succeeded", "note": secret}
    told = said(submit(stage, f"{place}/{told['id']}/outcome", outcome, secret))
    assert told["consumption"]["outcome"]["note"] == secret
    return request


def submit(stage: Stage, place: str, body: Any, secret: str) -> Any:
    """As a client of the protocol that makes its keys in the worst way."""
    key = headers(secret)["Idempotency_Key"][-255:]
    return stage.house.robot.client().post(
        place, body, content_type="application/json", headers={"Idempotency-Key": key}
    )


def said(answer: Any) -> Any:
    assert answer.status_code in {200, 201}, answer.content
    return answer.json()


def refused(answer: Any) -> str:
    assert answer.status_code == 422, answer.content
    assert answer.json()["code"] == "secret_in_arguments"
    return str(answer.json()["pointer"])


def pages(stage: Stage, requests: list[Request], runs: Sequence[str] = ()) -> str:
    """As Bob sees them; and Alice those of runs that asked nobody."""
    client = Client()
    client.force_login(stage.house.alice.user if runs else stage.bob.user)
    home = f"/t/{stage.house.tenant.slug}"
    paths = [f"{home}/queue", f"{home}/runs"]
    paths += [f"{home}/queue/{one.id}" for one in requests]
    paths += [f"{home}/runs/{one.run_id}" for one in requests]
    paths += [f"{home}/runs/{run}/session" for run in runs]
    answers = [client.get(path) for path in paths]
    assert {answer.status_code for answer in answers} <= {200, 404}
    return "".join(answer.content.decode() for answer in answers)


def contexts(api: Api, runs: list[str]) -> str:
    """What a model would be given to read, whoever asks for it."""
    return "".join(
        json.dumps(said(api.get(f"runs/{run}/context", max_tokens=8_000)))
        for run in runs
    )


def test_sixteen_kinds_on_every_door_are_nowhere_in_plain_text(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    stage = fresh_stage()
    api = Api.of(stage.house.robot)
    planted = [plant(stage, api, secret) for secret in CANARIES.values()]
    requests, runs = [one for one, _ in planted], [run for _, run in planted]
    export = tmp_path / "audit.ndjson"
    call_command("export_audit", tenant=str(stage.tenant_id), out=str(export))
    printed = capfd.readouterr()
    places = {
        "database": dump(),
        "logs": caplog.text + printed.out + printed.err,
        "pages": pages(stage, requests) + pages(stage, [], runs),
        "contexts": contexts(api, runs),
        "files": stored_files(stage),
        "export": export.read_text(),
    }
    leaks = [
        (place, kind, needle)
        for place, text in places.items()
        for kind, secret in CANARIES.items()
        for needle in needles(secret)
        if needle in text
    ]
    assert leaks == []
    for place in ("database", "pages"):
        assert places[place].count("[redacted: AWS access key, ") >= 3


@pytest.mark.parametrize("habit", ["echo", "say/500"])
def test_a_named_secret_reaches_its_tool_and_nothing_else(
    habit: str,
    toolserver: ToolServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    stage = fresh_stage(
        "managed",
        url=f"{toolserver.url}/{habit}",
        headers={"Authorization": "Bearer secret://pay_token"},
    )
    values = {"pay_token": f"tok-{unique()}", "pin": f'pin "{unique()}" ä'}
    for name, value in values.items():
        who = {"tenant_id": stage.tenant_id, "by": stage.house.alice.id}
        register_secret(**who, name=name, tool="pay")
        monkeypatch.setenv(variable_of(stage.house.tenant.slug, name), value)
    arguments = ARGUMENTS | {"payee": "secret://pin"}
    request = stage.ask(arguments=arguments)
    stage.answer(request)
    with tenant_transaction(stage.tenant_id):
        job = ResumeJob.objects.get(request=request)
    work(job.id)

    ((_, _, headers, body),) = toolserver.requests
    assert headers["Authorization"] == f"Bearer {values['pay_token']}"
    assert json.loads(body) == ARGUMENTS | {"payee": values["pin"]}
    export = tmp_path / "audit.ndjson"
    call_command("export_audit", tenant=str(stage.tenant_id), out=str(export))
    printed = capfd.readouterr()
    shown = pages(stage, [request])
    places = {
        "database": dump(),
        "logs": caplog.text + printed.out + printed.err,
        "pages": shown,
        "contexts": contexts(Api.of(stage.house.robot), [str(request.run_id)]),
        "export": export.read_text(),
    }
    for value in values.values():
        for needle in needles(value):
            assert [place for place, text in places.items() if needle in text] == []
    place = f"<code>{toolserver.url}</code>"
    assert "secret://pin" in shown
    assert f"a secret for <code>pay</code> at {place} only" in shown


def test_the_search_finds_what_is_there_and_fingerprints_agree() -> None:
    stage = fresh_stage()
    run, word = stage.run(), f"canary{unique()}"
    api = Api.of(stage.house.robot)
    facts(api, f"runs/{run.id}", run.fence, f"{word} {CANARIES['npm token']}")
    found = dump()
    assert needles(word)[0] in found
    with tenant_transaction(stage.tenant_id):
        fact = Fact.objects.get(run=run)
    mark = fact.reference.removeprefix(f"{word} ")
    assert mark.startswith("[redacted: npm token, ")
    assert fact.value == mark
