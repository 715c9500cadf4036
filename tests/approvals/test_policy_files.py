"""`manage.py policy`: files that are exported, linted, tested and imported."""

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from approvals.management.policy_files import (
    judged,
    read_policies,
    renamed,
    stand_in,
    write_policies,
)
from approvals.management.yaml_text import read_yaml, write_yaml
from approvals.models import Policy, PolicyDraft, PolicyRevision
from kernel.problems import Problem
from kernel.scope import tenant_transaction
from tenants.models import Role
from tenants.services import ask_for_second_admin
from tests.approvals.stage import Stage, fresh_stage
from tests.chain import kinds_of
from tests.factories import fresh_member
from tests.kernel.strategies import json_values

FILE = """
policies:
  payments:
    summary: Large payments need two.  # the board asked for it
    selector: |-
      tool == 'pay' &&
      double(arguments.amount) >= 1000.0
    verdict: require_review
    rules:
    - approvals: 2
      eligible:
        groups: [Reviewers]
    decide_within: 14400
  small:
    verdict: allow
    selector: tool == 'tag'
cases:
- name: a large payment needs two
  request: {tool: pay, arguments: {amount: "1240.00"}, risk: high}
  expect:
    verdict: require_review
    approvals: 2
    policies: [payments]
    decide_within: 14400
    rules:
    - {approvals: 2, eligible: {groups: [Reviewers]}}
- name: a tag needs nobody
  request: {tool: tag}
  expect: {verdict: allow, policies: [small], approvals: 0}
- name: whatever else needs one
  request: {tool: call}
  expect: {verdict: require_review, approvals: 1, policies: []}
"""


@pytest.fixture
def stage() -> Stage:
    return fresh_stage()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "policies.yaml"
    place.write_text(FILE)
    return place


def run(*arguments: object) -> str:
    out = io.StringIO()
    call_command("policy", *map(str, arguments), stdout=out, stderr=out)
    return out.getvalue()


def failing(*arguments: object) -> str:
    """What it wrote, and why it ended so."""
    out = io.StringIO()
    with pytest.raises(CommandError) as error:
        call_command("policy", *map(str, arguments), stdout=out, stderr=out)
    return out.getvalue() + str(error.value)


def slug(stage: Stage) -> str:
    return stage.house.tenant.slug


def in_force(stage: Stage) -> dict[str, Any]:
    with tenant_transaction(stage.tenant_id):
        rows = Policy.objects.exclude(current=None)
        return dict(rows.values_list("name", "current"))


def test_cases_are_judged_by_the_files_policies_without_a_tenant(file: Path) -> None:
    assert run("test", file).splitlines() == [
        "ok      a large payment needs two",
        "ok      a tag needs nobody",
        "ok      whatever else needs one",
    ]


@pytest.mark.parametrize(
    ("was", "becomes", "sentence"),
    [
        (
            "approvals: 2\n    policies",
            "approvals: 1\n    policies",
            "expected 1, found 2",
        ),
        ("policies: [payments]", "policies: []", "policies: expected [], found"),
        (
            "decide_within: 14400\n    rules",
            "decide_within: 1\n    rules",
            "found 14400",
        ),
        ("groups: [Reviewers]}}", "groups: [Others]}}", "rules: 1 others are owed"),
        ("expect: {verdict: allow", "expect: {verdict: deny", "expected deny"),
    ],
)
def test_a_case_that_comes_out_otherwise_fails_and_says_how(
    file: Path, was: str, becomes: str, sentence: str
) -> None:
    file.write_text(FILE.replace(was, becomes))
    told = failing("test", file)
    assert sentence in told
    assert "1 of 3 cases failed." in told


def test_a_file_without_cases_tests_nothing(file: Path) -> None:
    file.write_text(FILE[: FILE.index("cases:")])
    assert "There is no case to test." in failing("test", file)


@pytest.mark.parametrize(
    ("was", "becomes", "told"),
    [
        ("verdict: allow", "verdict: maybe", "/policies/small/verdict: "),
        ("tool == 'tag'", "tool === 'tag'", "/policies/small/selector: "),
        ("tool == 'tag'", "tol == 'tag'", "There is no `tol`."),
        ("small:", "so small:", "A name is one word"),
        ("policies: [small]", "policies: [smal]", "There is no policy smal."),
        ("decide_within: 14400\n  small", "within: 4\n  small", "/policies/payments"),
        ("verdict: allow", "verdict: allow\n    verdict: deny", "stands here twice"),
        ("verdict: allow", "verdict: &a allow\n    summary: *a", "Aliases"),
        ("14400\n  small", ".inf\n  small", "/policies/payments/decide_within"),
        ("cases:", "case:", "case"),
        ("verdict: allow", "verdict: [", "Line "),
    ],
)
def test_what_could_not_be_used_is_told_with_its_place(
    file: Path, was: str, becomes: str, told: str
) -> None:
    assert was in FILE
    file.write_text(FILE.replace(was, becomes, 1))
    assert told in failing("lint", file)


def test_a_file_is_linted_against_who_there_is(stage: Stage, file: Path) -> None:
    assert run("lint", file, "--tenant", slug(stage)) == "2 policies, no flaw\n"
    file.write_text(FILE.replace("[Reviewers]", "[Board]"))
    assert run("lint", file) == "2 policies, no flaw\n"
    told = failing("lint", file, "--tenant", slug(stage))
    assert "/policies/payments/rules: There is no group Board." in told
    file.write_text(
        FILE.replace("approvals: 2\n      eligible", "approvals: 9\n      eligible")
    )
    told = failing("lint", file, "--tenant", slug(stage))
    assert "/policies/payments/rules/0: It asks for 9 people; 2 could answer." in told


def test_an_import_publishes_what_differs_and_nothing_else(
    stage: Stage, file: Path
) -> None:
    assert "payments: publish\nsmall: publish\n2 changed" in run(
        "import", slug(stage), file, "--dry-run"
    )
    assert in_force(stage) == {}
    told = run("import", slug(stage), file)
    assert "payments: published as revision 1" in told
    assert in_force(stage) == {"payments": 1, "small": 1}
    with tenant_transaction(stage.tenant_id):
        revision = PolicyRevision.objects.get(policy__name="payments")
    group = str(stage.house.reviewers.id)
    assert revision.definition["rules"][0]["eligible"] == {"groups": [group]}
    assert revision.author_id is None
    assert kinds_of(stage.tenant_id, revision.policy_id) == ["policy.published"]
    assert run("import", slug(stage), file).endswith("0 changed, 2 as before\n")
    assert in_force(stage) == {"payments": 1, "small": 1}


def test_an_export_is_imported_elsewhere_by_names(stage: Stage, tmp_path: Path) -> None:
    bob = {"members": [str(stage.bob.id)]}
    group = {"groups": [str(stage.house.reviewers.id)]}
    stage.policy("one", rules=[{"eligible": group, "approvals": 2}])
    stage.policy("two", selector="tool == 'pay' &&\nrisk == 'high'", reason="always")
    text = run("export", slug(stage))
    assert "Reviewers" in text
    assert str(stage.house.reviewers.id) not in text
    other, place = fresh_stage(), tmp_path / "p.yaml"
    place.write_text(text)
    run("import", slug(other), place)
    assert run("export", slug(other)) == text
    stage.policy("three", rules=[{"eligible": bob}])
    assert stage.bob.user.email in run("export", slug(stage))


def test_nothing_is_imported_where_a_case_fails_or_one_policy_is_flawed(
    stage: Stage, file: Path
) -> None:
    file.write_text(FILE.replace("expect: {verdict: allow", "expect: {verdict: deny"))
    assert "1 of 3 cases failed." in failing("import", slug(stage), file)
    file.write_text(FILE.replace("[Reviewers]", "[Board]"))
    assert "There is no group Board." in failing("import", slug(stage), file)
    assert in_force(stage) == {}


def test_what_the_file_has_not_is_retired_only_when_asked(
    stage: Stage, file: Path
) -> None:
    stage.policy("old", verdict="deny", selector="tool == 'old'")
    stage.let_through("older", selector="tool == 'older'")
    run("import", slug(stage), file)
    assert set(in_force(stage)) == {"payments", "small", "old", "older"}
    told = run("import", slug(stage), file, "--retire")
    assert told.splitlines()[-3:] == [
        "older: taken out of force",  # what tightens comes first
        "old: taken out of force",
        "2 changed, 2 as before",
    ]
    assert set(in_force(stage)) == {"payments", "small"}


def test_somebody_can_answer_for_an_import(stage: Stage, file: Path) -> None:
    alice = stage.house.alice
    run("import", slug(stage), file, "--by", alice.user.email.upper())
    with tenant_transaction(stage.tenant_id):
        authors = set(PolicyRevision.objects.values_list("author_id", flat=True))
    assert authors == {alice.id}
    stage.policy("old", verdict="deny")
    bob = stage.bob.user.email
    assert "not_permitted" in failing(
        "import", slug(stage), file, "--retire", "--by", bob
    )
    charlie = stage.house.charlie.user.email
    assert "not_found" in failing("import", slug(stage), file, "--by", charlie)


def test_where_two_are_asked_for_an_import_only_drafts(
    stage: Stage, file: Path
) -> None:
    fresh_member(stage.house.alice, "Dora", role=Role.ADMIN)
    ask_for_second_admin(tenant_id=stage.tenant_id, by=stage.house.alice.id, asked=True)
    assert "policy.own_draft" in failing("import", slug(stage), file)
    assert "payments: drafted" in run("import", slug(stage), file, "--draft")
    assert in_force(stage) == {}
    with tenant_transaction(stage.tenant_id):
        assert PolicyDraft.objects.filter(state="draft").count() == 2
    assert "any admin" in run("second-admin", slug(stage), "end")
    run("import", slug(stage), file)
    assert "a second admin" in run("second-admin", slug(stage), "ask")


@pytest.mark.parametrize(
    "text",
    ["yes", "no", "on", "2026-11-30", "0o17", "1_000", "a: b", "", "~", " x ", "1"],
)
def test_a_text_is_read_back_as_that_text(text: str) -> None:
    assert read_yaml(write_yaml({"said": text})) == {"said": text}


@given(json_values)
def test_a_value_is_read_back_as_it_was_written(value: Any) -> None:
    assert read_yaml(write_yaml(value)) == value


@given(st.text(max_size=200))
def test_any_text_is_a_file_or_a_problem(text: str) -> None:
    try:
        list(judged(read_policies(text)))
    except Problem as problem:
        told = problem.code
    else:
        told = ""
    assert told in {"yaml_invalid", "policy.invalid", ""}


def test_a_stand_in_is_the_same_for_the_same_name_and_kind() -> None:
    definition = {"rules": [{"eligible": {"groups": ["A"], "members": ["A"]}}]}
    eligible = renamed(definition, stand_in)["rules"][0]["eligible"]
    assert eligible == renamed(definition, stand_in)["rules"][0]["eligible"]
    assert eligible["groups"] != eligible["members"]
    assert read_policies(write_policies({"p": {"verdict": "deny"}})).cases == []
