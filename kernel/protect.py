"""Migration operations that put a table under its tenant's protection.

`protect` gives a table row-level security (enabled and forced), the unique
(tenant_id, id) that composite foreign keys need, a composite foreign key for each
reference to another protected table, and the app role's least privilege.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import ForeignKey, Model

SCOPE = "nullif(current_setting('app.tenant', true), '')::uuid"


@dataclass(frozen=True, kw_only=True)
class Table:
    """One model's table: which columns the app role may change (None: all)."""

    model: str
    update: Sequence[str] | None = None
    delete: bool = False
    relay: bool = False  # the relay may see tenant_id, id and due_at
    gated: Sequence[str] | None = None  # changes to these close the tenant's gate


def protect(app_label: str, *tables: Table) -> migrations.RunPython:
    """The operation that protects `tables`; runs once their tables exist."""

    def forwards(apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
        models = [(apps.get_model(app_label, table.model), table) for table in tables]
        for model, _ in models:
            _isolate(model, editor)
        for model, table in models:
            _reference(model, editor)
            _grant(model, table, editor)
            _gate(model, table, editor)

    return migrations.RunPython(forwards, migrations.RunPython.noop)


def _isolate(model: type[Model], editor: BaseDatabaseSchemaEditor) -> None:
    name = model._meta.db_table
    editor.execute(f"ALTER TABLE {name} ADD UNIQUE (tenant_id, id)")
    editor.execute(f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY")
    editor.execute(f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY")
    editor.execute(
        f"CREATE POLICY tenant ON {name} USING (tenant_id = {SCOPE})"
        f" WITH CHECK (tenant_id = {SCOPE})"
    )


def _reference(model: type[Model], editor: BaseDatabaseSchemaEditor) -> None:
    for field in model._meta.local_fields:
        if isinstance(field, ForeignKey) and is_tenant_owned(field.related_model):
            editor.execute(
                f"ALTER TABLE {model._meta.db_table} ADD FOREIGN KEY"
                f" (tenant_id, {field.column})"
                f" REFERENCES {field.related_model._meta.db_table} (tenant_id, id)"
            )


def is_tenant_owned(model: Any) -> bool:
    """Whether the model's rows belong to exactly one tenant."""
    return any(field.column == "tenant_id" for field in model._meta.local_fields)


def _grant(model: type[Model], table: Table, editor: BaseDatabaseSchemaEditor) -> None:
    name = model._meta.db_table
    editor.execute(f"GRANT SELECT, INSERT ON {name} TO keyturn_app")
    if table.update is None:
        editor.execute(f"GRANT UPDATE ON {name} TO keyturn_app")
    elif table.update:
        columns = ", ".join(map(editor.quote_name, table.update))
        editor.execute(f"GRANT UPDATE ({columns}) ON {name} TO keyturn_app")
    if table.delete:
        editor.execute(f"GRANT DELETE ON {name} TO keyturn_app")
    if table.relay:
        editor.execute(
            f"GRANT SELECT (tenant_id, id, due_at) ON {name} TO keyturn_relay"
        )
        editor.execute(
            f"CREATE POLICY relay ON {name} FOR SELECT TO keyturn_relay USING (true)"
        )


def _gate(model: type[Model], table: Table, editor: BaseDatabaseSchemaEditor) -> None:
    if table.gated is None:
        return
    columns = f"UPDATE OF {', '.join(table.gated)}" if table.gated else "UPDATE"
    editor.execute(
        f"CREATE TRIGGER gate BEFORE INSERT OR DELETE OR {columns}"
        f" ON {model._meta.db_table} FOR EACH ROW EXECUTE FUNCTION keyturn_close_gate()"
    )
