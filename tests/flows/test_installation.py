"""The fixture itself: what is killed comes back."""

import httpx

from tests.installation import Installation


def test_what_is_killed_comes_back(installation: Installation) -> None:
    for name in ("web", "worker", "beat"):
        installation.kill(name)
    assert httpx.get(f"{installation.url}/health/ready", trust_env=False).is_success
