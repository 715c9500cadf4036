"""An installation of its own, with one tenant, its reviewer and its agent."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from tests.approvals.stage import Stage

DATA_DIR = Path(__file__).resolve().parent.parent / "var" / "bench"


@dataclass(frozen=True, kw_only=True)
class Doors:
    """Clients of the running installation: the agent's and the reviewer's."""

    url: str
    stage: "Stage"

    def agent(self) -> httpx.Client:
        key = self.stage.house.robot.text
        return httpx.Client(
            base_url=f"{self.url}/api/v1", headers={"Authorization": f"Bearer {key}"}
        )

    def reviewer(self) -> httpx.Client:
        """Bob's browser session, as a script of one of our pages would use it."""
        signed_in = self.stage.bob.scripted()
        cookies = {name: morsel.value for name, morsel in signed_in.cookies.items()}
        sent = {
            name.removeprefix("HTTP_").replace("_", "-"): str(value)
            for name, value in signed_in.defaults.items()
        }
        return httpx.Client(
            base_url=f"{self.url}/api/v1", cookies=cookies, headers=sent
        )


@contextmanager
def running() -> Iterator[Doors]:
    """PostgreSQL, web and worker on `var/bench`, durable as in production."""
    os.environ["KEYTURN_DATA_DIR"] = str(DATA_DIR)
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    DATA_DIR.mkdir(parents=True, exist_ok=True)
    import django

    from config import embedded

    services = embedded.ensure(embedded.prepare(DATA_DIR))
    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    settings.ALLOWED_HOSTS.append("testserver")  # what Django's own client calls itself
    call_command("migrate", verbosity=0)
    from tests.approvals.stage import fresh_stage
    from tests.installation import running_installation

    try:
        with running_installation() as installation:
            yield Doors(url=installation.url, stage=fresh_stage())
    finally:
        if services.started:
            embedded.stop(services.data_dir)
