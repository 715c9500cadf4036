"""`manage.py policy`: policies as files, which a repository keeps and tests."""

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from approvals.management.policy_files import (
    Definition,
    Flaw,
    PolicyFile,
    flaws_of,
    judged,
    read_policies,
    renamed,
    write_policies,
)
from approvals.management.tenant_names import TenantNames, exported, in_force_by_name
from approvals.services.policies import (
    check_usable,
    publish_policy,
    retire_policy,
)
from approvals.services.policy_drafts import save_policy_draft
from audit.queries import find_tenant
from kernel.problems import NOT_FOUND, Problem
from kernel.scope import tenant_transaction
from tenants.checks import Acting, Operator
from tenants.models import Member
from tenants.services import ask_for_second_admin


class Command(BaseCommand):
    help = "Export, import, lint or test policies as YAML; ask for a second admin."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        for verb, about in (
            ("export", "print the policies in force"),
            ("import", "publish what differs from what is in force"),
            ("lint", "say what could not be used"),
            ("test", "judge the file’s cases by its policies"),
            ("second-admin", "whether another admin than its author publishes"),
        ):
            self._arguments(verb, verbs.add_parser(verb, help=about))

    def _arguments(self, verb: str, parser: ArgumentParser) -> None:
        if verb in {"export", "import", "second-admin"}:
            parser.add_argument("tenant", help="its name in addresses, or its id")
        if verb in {"import", "lint", "test"}:
            parser.add_argument("file", help="a YAML file, or - for standard input")
        if verb == "lint":
            parser.add_argument("--tenant", help="also against who and what it has")
        if verb == "second-admin":
            parser.add_argument("asked", choices=["ask", "end"])
        if verb == "import":
            parser.add_argument("--by", metavar="EMAIL", help="who answers for it")
            parser.add_argument("--draft", action="store_true", help="publish nothing")
            parser.add_argument("--dry-run", action="store_true", help="only say it")
            parser.add_argument(
                "--retire", action="store_true", help="what the file has not, too"
            )

    def handle(self, *, verb: str, **options: Any) -> None:
        acts: Mapping[str, Callable[..., None]] = {
            "export": self._export,
            "import": self._import,
            "lint": self._lint,
            "test": self._test,
            "second-admin": self._second_admin,
        }
        try:
            acts[verb](**options)
        except (LookupError, OSError, UnicodeDecodeError, Problem) as error:
            raise CommandError(str(error)) from error

    def _export(self, *, tenant: str, **_: Any) -> None:
        with tenant_transaction(find_tenant(tenant)):
            self.stdout.write(write_policies(exported()), ending="")

    def _lint(self, *, file: str, tenant: str | None, **_: Any) -> None:
        policies = _read(file)
        tenant_id = find_tenant(tenant) if tenant else None
        self._refuse_flaws(file, policies, tenant_id)
        self.stdout.write(f"{len(policies.policies)} policies, no flaw")

    def _test(self, *, file: str, **_: Any) -> None:
        policies = _read(file)
        self._refuse_flaws(file, policies, None)
        if not policies.cases:
            raise CommandError("There is no case to test.")
        self._refuse_failures(policies)

    def _import(
        self, *, tenant: str, file: str, by: str | None, dry_run: bool, **how: Any
    ) -> None:
        """Nothing is published unless all of it could be, and every case comes out."""
        policies, tenant_id = _read(file), find_tenant(tenant)
        self._refuse_flaws(file, policies, tenant_id)
        self._refuse_failures(policies)
        acting = _member(tenant_id, by) if by else Operator.CONSOLE
        plan = _plan(tenant_id, policies, retire=how["retire"])
        for name, definition in plan.items():
            act = "take out of force" if definition is None else "publish"
            if not dry_run:
                act = _carry_out(tenant_id, acting, name, definition, how["draft"])
            self.stdout.write(f"{name}: {act}")
        same = len(set(policies.policies) - set(plan))
        self.stdout.write(f"{len(plan)} changed, {same} as before")

    def _second_admin(self, *, tenant: str, asked: str, **_: Any) -> None:
        ask_for_second_admin(
            tenant_id=find_tenant(tenant), by=Operator.CONSOLE, asked=asked == "ask"
        )
        who = "a second admin" if asked == "ask" else "any admin"
        self.stdout.write(f"Policies are published by {who}.")

    def _refuse_flaws(
        self, place: str, file: PolicyFile, tenant_id: UUID | None
    ) -> None:
        flaws = list(flaws_of(file))
        if tenant_id is not None and not flaws:
            with tenant_transaction(tenant_id):
                flaws = list(_flaws_there(file))
        for flaw in flaws:
            self.stderr.write(f"{place}{flaw.pointer}: {flaw.sentence}")
        if flaws:
            raise CommandError(f"{len(flaws)} of it cannot be used.")

    def _refuse_failures(self, file: PolicyFile) -> None:
        failed = 0
        for verdict in judged(file):
            failed += bool(verdict.differs)
            self.stdout.write(
                f"{'failed' if verdict.differs else 'ok':6}  {verdict.name}"
            )
            for sentence in verdict.differs:
                self.stdout.write(f"        {sentence}")
        if failed:
            raise CommandError(f"{failed} of {len(file.cases)} cases failed.")


def _read(place: str) -> PolicyFile:
    text = sys.stdin.read() if place == "-" else Path(place).read_text("utf-8")
    return read_policies(text)


def _flaws_there(file: PolicyFile) -> Iterator[Flaw]:
    """What this tenant could not use, as it is now. Inside the scope."""
    names = TenantNames()
    for name, definition in file.policies.items():
        try:
            check_usable(renamed(definition, names.id_of))
        except Problem as problem:
            yield Flaw(f"/policies/{name}{problem.pointer or ''}", problem.detail)


def _plan(
    tenant_id: UUID, file: PolicyFile, *, retire: bool
) -> dict[str, Definition | None]:
    """What differs from what is in force; None: to be taken out of it."""
    with tenant_transaction(tenant_id):
        names, standing = TenantNames(), in_force_by_name()
    wanted = {n: renamed(d, names.id_of) for n, d in file.policies.items()}
    changed = {n: d for n, d in wanted.items() if standing.get(n) != d}
    gone = sorted(set(standing) - set(wanted)) if retire else []
    plan: dict[str, Definition | None] = {**changed, **dict.fromkeys(gone)}
    return dict(
        sorted(plan.items(), key=lambda one: _looseness(one[0], one[1], standing))
    )


def _looseness(
    name: str, definition: Definition | None, standing: Mapping[str, Definition]
) -> int:
    """What tightens comes first, so that nothing is let through in between."""
    said = definition or {"verdict": "none"}
    if definition is None and standing[name]["verdict"] == "allow":
        return 0
    return ("deny", "require_review", "allow", "none").index(said["verdict"])


def _carry_out(
    tenant_id: UUID,
    by: Acting,
    name: str,
    definition: Definition | None,
    as_draft: bool,
) -> str:
    """By the same verbs as everywhere; what was done, in words."""
    given: dict[str, Any] = {"tenant_id": tenant_id, "by": by, "name": name}
    if as_draft:
        draft = save_policy_draft(**given, definition=definition)
        return (
            f"drafted{' to be taken out of force' if draft.definition is None else ''}"
        )
    if definition is None:
        retire_policy(**given)
        return "taken out of force"
    return (
        f"published as revision {publish_policy(**given, definition=definition).number}"
    )


def _member(tenant_id: UUID, email: str) -> UUID:
    with tenant_transaction(tenant_id):
        rows = Member.objects.filter(user__email=email.lower(), active=True)
        found = rows.values_list("id", flat=True).first()
    if found is None:
        raise NOT_FOUND("There is no active member of this address.")
    return found
