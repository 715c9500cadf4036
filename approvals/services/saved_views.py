"""Named selections of the list: each person's own, and those that all of a tenant see.

They say what somebody likes to look at. What anybody may see is not changed by them.
"""

from typing import Final
from uuid import UUID

from django.db import IntegrityError
from django.db.models import QuerySet

from approvals.models import SavedView
from approvals.problems import NO_RIGHT, NOT_FOUND, TOO_MANY_VIEWS, VIEW_INVALID
from kernel.update import update_exactly_one
from tenants.access import ADMINISTRATORS
from tenants.idempotency import Once
from tenants.models import Member
from tenants.principal import Person
from tenants.services.change import ALREADY_SO, NAME_TAKEN
from tenants.services.names import checked_name
from tenants.verbs import Verb, perform

MOST: Final = 30  # of one person, and as many that all see
LONGEST_NAME: Final = 60
LONGEST_QUERY: Final = 1_000


def save_view(
    person: Person,
    *,
    name: str,
    query: str,
    shared: bool = False,
    default: bool = False,
    once: Once | None = None,
) -> SavedView:
    """Keep a selection under a name; `shared` ones are seen by all, and administrators'.

    Raises `not_permitted`, `name_invalid`, `name_taken`, `view_invalid`,
    `too_many_views`.
    """
    if len(query) > LONGEST_QUERY or not query.isprintable():
        raise VIEW_INVALID("It is narrowed by too much.")

    def work(verb: Verb) -> SavedView:
        owner = _owner(person, shared=shared)
        views = SavedView.objects.filter(owner=owner)
        if views.count() >= MOST:
            raise TOO_MANY_VIEWS(f"There can be {MOST}. Delete one first.")
        view = _create(person, owner, _free_name(views, name), query)
        _record(verb, person, view, "view.saved")
        if default:
            _make_default(view, on=True)
        return view

    return perform(person.tenant_id, work, once=once)


def rename_view(
    person: Person, *, view_id: UUID, name: str, once: Once | None = None
) -> None:
    """Raises `not_found`, `not_permitted`, `name_invalid`, `name_taken`."""

    def work(verb: Verb) -> None:
        view = _own(person, view_id)
        others = SavedView.objects.filter(owner=view.owner_id).exclude(id=view.id)
        _rename(view, _free_name(others, name))
        _record(verb, person, view, "view.renamed")

    perform(person.tenant_id, work, once=once)


def default_view(
    person: Person, *, view_id: UUID, on: bool = True, once: Once | None = None
) -> None:
    """Begin with it, or no longer. Raises `not_found`, `not_permitted`."""

    def work(verb: Verb) -> None:
        view = _own(person, view_id)
        _make_default(view, on=on)
        _record(verb, person, view, "view.made_default" if on else "view.no_default")

    perform(person.tenant_id, work, once=once)


def delete_view(person: Person, *, view_id: UUID, once: Once | None = None) -> None:
    """Raises `not_found`, `not_permitted`."""

    def work(verb: Verb) -> None:
        view = _own(person, view_id)
        _record(verb, person, view, "view.deleted")
        SavedView.objects.filter(id=view.id).delete()

    perform(person.tenant_id, work, once=once)


def _owner(person: Person, *, shared: bool) -> Member | None:
    """Whose it will be. Locked, so that of two at once one is counted before the other."""
    member = Member.objects.select_for_update().get(id=person.member_id)
    if not member.active:
        raise NOT_FOUND()
    if shared and member.role not in ADMINISTRATORS:
        raise NO_RIGHT("Views for everybody are made by those who administer.")
    return None if shared else member


def _own(person: Person, view_id: UUID) -> SavedView:
    """One that the person may change. Somebody else's is as if it did not exist."""
    member = Member.objects.get(id=person.member_id)
    view = SavedView.objects.select_for_update().filter(id=view_id).first()
    theirs = view is None or view.owner_id not in {None, member.id}
    if view is None or theirs or not member.active:
        raise NOT_FOUND("No such view.")
    if view.owner_id is None and member.role not in ADMINISTRATORS:
        raise NO_RIGHT("Views for everybody are changed by those who administer.")
    return view


def _create(person: Person, owner: Member | None, name: str, query: str) -> SavedView:
    try:
        return SavedView.objects.create(
            tenant_id=person.tenant_id, owner=owner, name=name, query=query
        )
    except IntegrityError as error:
        raise NAME_TAKEN("Another view has this name.", "/name") from error


def _rename(view: SavedView, name: str) -> None:
    try:
        update_exactly_one(SavedView.objects.filter(id=view.id), name=name)
    except IntegrityError as error:
        raise NAME_TAKEN("Another view has this name.", "/name") from error


def _free_name(others: QuerySet[SavedView], name: str) -> str:
    """Raises `name_invalid`, `name_taken`. The database holds it against two at once."""
    checked = checked_name(name, most=LONGEST_NAME)
    if others.filter(name=checked).exists():
        raise NAME_TAKEN("Another view has this name.", "/name")
    return checked


def _make_default(view: SavedView, *, on: bool) -> None:
    SavedView.objects.filter(owner=view.owner_id, default=True).update(default=False)
    try:
        if on:
            update_exactly_one(SavedView.objects.filter(id=view.id), default=True)
    except IntegrityError as error:
        raise ALREADY_SO("Somebody chose another one at this moment.") from error


def _record(verb: Verb, person: Person, view: SavedView, kind: str) -> None:
    """Whose it is, and not what it is called or looks for: the chain keeps no words."""
    whose = "everybody" if view.owner_id is None else "own"
    subject = ("saved_view", view.id)
    verb.record(kind, actor=person.actor, subject=subject, data={"of": whose})
