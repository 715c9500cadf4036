"""What a person may bound beforehand leads nowhere but there."""

import pytest

from approvals.policy.beforehand import Constraint, flaw_of

LED_ELSEWHERE = [
    ("https://pay-", "https://pay-eu.example", "https://pay-evil.example/x"),
    ("https://pay_", "https://pay_a", "https://pay_.evil.example"),
    ("https:", "https:a", "https:evil.example"),
    ("HTTPS:/", "HTTPS:/a", "HTTPS:/evil.example/x"),
    ("https://pay.example:", "https://pay.example:80", "https://pay.example:evil.example"),
    ("//pay-", "//pay-eu", "//pay-evil.example"),
    ("s3://backup-", "s3://backup-a", "s3://backup-of-others/x"),
]  # fmt: skip


@pytest.mark.parametrize(("prefix", "approved", "elsewhere"), LED_ELSEWHERE)
def test_a_prefix_fixes_an_addresses_host(
    prefix: str, approved: str, elsewhere: str
) -> None:
    """Also where it was made when that was not known."""
    bound = Constraint("/url", "prefix", {"prefix": prefix})
    assert "host" in flaw_of(bound, approved)
    assert not bound.allows(approved)
    assert not bound.allows(elsewhere)


@pytest.mark.parametrize(
    ("prefix", "approved"),
    [
        ("https://pay.example/", "https://pay.example/a/b.json"),
        ("https://pay.example/v1-", "https://pay.example/v1-a"),
        ("https://pay.example:8443/", "https://pay.example:8443/a"),
        ("s3://backup/", "s3://backup/a"),
        ("urn:invoice:", "urn:invoice:12"),
        ("INV-", "INV-1042"),
        ("src/reports/", "src/reports/a.md"),
        ("repo#", "repo#12"),
    ],
)
def test_other_prefixes_are_taken(prefix: str, approved: str) -> None:
    bound = Constraint("/url", "prefix", {"prefix": prefix})
    assert flaw_of(bound, approved) == ""
    assert bound.allows(approved)
