"""A tenant once more: what the verbs wrote for one, written again for another.

Most tests begin with the same house. In each process the verbs make it once; all others
have the same rows under ids, names and a key of their own, written in one statement
instead of a hundred, with audit entries that are signed anew. `tests/test_copies.py`
compares the two.
"""

import json
import re
from collections.abc import Iterator, Mapping
from copy import copy, deepcopy
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.apps import apps
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group as Named
from django.db import connection, models
from django.db.models.sql import InsertQuery

from audit.append import recorded
from audit.models import Entry
from kernel.ids import new_id
from kernel.scope import tenant_transaction
from tenants import keys
from tenants.models import ApiKey, Group, Member, Tenant, User

# Stand for the group's number, which Django counts across tenants, and the key's digest.
GROUP: Final = 1_987_654_321
DIGEST: Final = "{digest}"
ID: Final = r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
TIME: Final = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?\+00:00"
# What addresses, short names and groups are told apart by.
WORD: Final = r"(?<![0-9a-f])(?:[0-9a-f]{12}|[0-9a-f]{32})(?![0-9a-f])"
UNUSABLE: Final = r"![0-9A-Za-z]{40}"
OWN: Final = re.compile(rf"({ID}|{TIME}|{WORD}|{UNUSABLE}|\b{GROUP}\b|{DIGEST})")


class Original[Made]:
    """What was made for one tenant, kept to be made again for others."""

    def __init__(self, made: Made, *, tenant_id: UUID, key: str) -> None:
        self._made, self._tenant_id, self._key = made, str(tenant_id), key
        with tenant_transaction(tenant_id):
            self._issued = ApiKey.objects.get(hash=keys.digest_of(key))
            written = [*_inserts(tenant_id), json.dumps([*_notes()])]
        text = "\n".join(written).replace(self._issued.hash.hex(), DIGEST)
        self.parts: Final = OWN.split(text)
        """By turns what all copies share, and what each has of its own."""
        own = sorted(set(self.parts[1::2]))
        self._ids = [one for one in own if re.fullmatch(ID, one)]
        self._times = [one for one in own if re.fullmatch(TIME, one)]
        self._words = [one for one in own if re.fullmatch(WORD, one)]
        self._passwords = [one for one in own if re.fullmatch(UNUSABLE, one)]

    def copy(self) -> Made:
        """The same for a tenant of its own."""
        new = self._named_anew()
        tenant_id = UUID(new[self._tenant_id])
        with recorded(tenant_id) as journal, connection.cursor() as cursor:
            cursor.execute("SELECT clock_timestamp(), nextval('auth_group_id_seq')")
            now, group = cursor.fetchone()
            new |= self._made_at(now) | {str(GROUP): str(group)}
            text = "".join([new.get(part, part) for part in self.parts])
            inserts, notes = text.rsplit("\n", 1)
            cursor.execute(inserts)
            for note in json.loads(notes):
                journal.record(**note)
        return Renewal(new).of(self._made)  # type: ignore[no-any-return]

    def _named_anew(self) -> dict[str, str]:
        ids = sorted(str(new_id()) for _ in self._ids)  # in the order of the first ones
        new = dict(zip(self._ids, ids, strict=True))
        new |= {one: new_id().hex[-len(one) :] for one in self._words}
        new |= {one: make_password(None) for one in self._passwords}
        key_id = UUID(new[str(self._issued.id)])
        key = keys.issue(key_id=key_id, environment=self._issued.environment)
        digest = keys.digest_of(key).hex()
        return new | {
            self._key: key,
            DIGEST: digest,
            self._issued.hash.hex(): digest,
        }

    def _made_at(self, now: datetime) -> dict[str, str]:
        """One after the other, as they were."""
        return {
            one: str(now + timedelta(microseconds=number))
            for number, one in enumerate(self._times)
        }


def _inserts(tenant_id: UUID) -> Iterator[str]:
    """Every row that is the tenant's, after those that it refers to."""
    (group,) = Group.objects.all()
    yield _insert(Named(id=GROUP, name=group.django_group.name))
    members = Member.objects.values("user")
    for rows in (
        User.objects.filter(id__in=members),
        Tenant.objects.filter(id=tenant_id),
        *(model._default_manager.all() for model in _models()),
        User.groups.through.objects.filter(group_id=group.django_group_id),
    ):
        written = map(_insert, rows.order_by("pk"))
        yield from sorted(written, key=lambda said: OWN.sub("", said))


def _models() -> list[type[models.Model]]:
    """Those whose rows are one tenant's, each after its references; not the log's."""
    return [
        model
        for model in apps.get_models()
        if model._meta.app_label != "audit"
        and any(field.attname == "tenant_id" for field in model._meta.concrete_fields)
    ]


def _insert(row: models.Model) -> str:
    """The statement with its values in it, as the database is sent it."""
    numbered = isinstance(row, Named)
    written = [
        field
        for field in row._meta.concrete_fields
        if numbered or not isinstance(field, models.AutoField)
    ]
    row = copy(row)
    for field in written:
        if field.related_model is Named:
            setattr(row, field.attname, GROUP)
    query = InsertQuery(type(row))
    query.insert_values(written, [row])
    with connection.cursor() as cursor:
        ((statement, values),) = query.get_compiler(connection=connection).as_sql()
        written = cursor.mogrify(statement, values)
    return re.sub(
        r"'(\w{32})'::uuid", lambda found: f"'{UUID(found[1])}'", f"{written};"
    )


def _notes() -> Iterator[dict[str, Any]]:
    """What `record` is given for each entry of the log."""
    for entry in Entry.objects.order_by("seq"):
        yield {
            "kind": entry.kind,
            "actor": (entry.actor_type, entry.actor_id),
            "subject": (entry.subject_type, entry.subject_id and str(entry.subject_id)),
            "data": entry.data,
        }


class Renewal:
    """Makes objects anew, with the new ids, names, times and key for the old ones."""

    def __init__(self, new: Mapping[str, str]) -> None:
        self._new, self._group = new, int(new[str(GROUP)])
        self._rows: dict[int, models.Model] = {}

    def of(self, made: Any) -> Any:
        new = self._new
        match made:
            case models.Model():
                return self._rows.get(id(made)) or self._row(made)
            case UUID():
                return UUID(new.get(str(made), str(made)))
            case datetime():
                return datetime.fromisoformat(new.get(str(made), str(made)))
            case bytes():
                return bytes.fromhex(new.get(made.hex(), made.hex()))
            case str() if made in new:
                return new[made]
            case str() if OWN.search(made):
                return OWN.sub(lambda own: new.get(own[0], own[0]), made)
            case tuple():
                return tuple(map(self.of, made))
            case _ if is_dataclass(made):
                return self._value(made)
        return deepcopy(made)

    def _value(self, made: Any) -> Any:
        """Without functions: what is made when it is asked for is each copy's own."""
        parts = {one.name: getattr(made, one.name) for one in fields(made) if one.init}
        kept = {name: part for name, part in parts.items() if not callable(part)}
        return type(made)(**{name: self.of(part) for name, part in kept.items()})

    def _row(self, made: models.Model) -> models.Model:
        row = self._rows[id(made)] = copy(made)
        for field in made._meta.concrete_fields:
            if field.attname in made.__dict__:
                value = made.__dict__[field.attname]
                renewed = self._group if _is_group(field) else self.of(value)
                row.__dict__[field.attname] = renewed
        known = made._state.fields_cache
        row._state.fields_cache = {name: self.of(one) for name, one in known.items()}
        return row


def _is_group(field: models.Field) -> bool:
    """Whether it holds the group's number."""
    numbered = field.model is Named and field.primary_key
    return numbered or field.related_model is Named
