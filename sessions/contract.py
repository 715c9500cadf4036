"""What a workflow permits: which facts, from whom, and which stage follows which.

Whatever a definition leaves out is permitted; but once it names its fields or its
stages, those are all there are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kernel.json_schema import check_schema, check_value
from kernel.problems import declare
from kernel.strict_json import Json
from sessions.models import Provenance, Workflow

WORKFLOW_INVALID: Final = declare(
    "workflow_invalid", status=422, title="This workflow contradicts itself"
)
STAGE_NOT_ALLOWED: Final = declare(
    "stage_not_allowed", status=422, title="The workflow has no way to this stage"
)
FACT_NOT_ALLOWED: Final = declare(
    "fact_not_allowed", status=422, title="The workflow has no such fact"
)
FACT_INVALID: Final = declare(
    "fact_invalid", status=422, title="The fact does not fit its workflow's schema"
)
PROVENANCE_NOT_ALLOWED: Final = declare(
    "provenance_not_allowed", status=422, title="This source may not write this fact"
)

FACT_NAME: Final = "^[a-z][a-z0-9_]{0,63}$"
STAGE_NAME: Final = "^[a-z][a-z0-9_-]{0,63}$"
_STAGE: Final = {"type": "string", "pattern": STAGE_NAME}
_DEFINITION: Final[Mapping[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "fields": {
            "type": "object",
            "propertyNames": {"pattern": FACT_NAME},
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "schema": {"type": "object"},
                    "provenance": {
                        "type": "array",
                        "items": {"enum": Provenance.values},
                        "minItems": 1,
                        "uniqueItems": True,
                    },
                    "authority": {"type": "boolean"},
                    "max_age": {"type": "integer", "minimum": 1},
                },
            },
        },
        "stages": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": _STAGE,
            "additionalProperties": {"type": "array", "items": _STAGE},
        },
        "initial": _STAGE,
        "schema_versions": {
            "type": "array",
            "items": {"type": "integer", "minimum": 1, "maximum": 2**31 - 1},
            "minItems": 1,
            "uniqueItems": True,
        },
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A fact as somebody states it, before anything vouches for the statement."""

    value: Json
    provenance: Provenance
    reference: str = ""
    evidence_digest: str = ""


@dataclass(frozen=True, slots=True)
class Contract:
    """A workflow's definition, asked instead of read."""

    definition: Mapping[str, Any]

    @classmethod
    def of(cls, workflow: Workflow) -> "Contract":
        return cls(workflow.definition)

    @property
    def initial(self) -> str:
        """The stage in which a run begins; empty where stages are not used."""
        stage: str = self.definition.get("initial", "")
        return stage

    @property
    def schema_versions(self) -> frozenset[int] | None:
        """Which schemas of checkpoints it lists; None: it lists none, and takes all."""
        versions = self.definition.get("schema_versions")
        return None if versions is None else frozenset(versions)

    def understands(self, schema_version: int) -> bool:
        """Whether checkpoints of this schema can be read."""
        versions = self.schema_versions
        return versions is None or schema_version in versions

    def max_age(self, name: str) -> int | None:
        """For how many seconds the fact stands after it was observed; None: always."""
        age: int | None = self._fields.get(name, {}).get("max_age")
        return age

    def check_stage(self, current: str, to: str) -> None:
        """Raises `stage_not_allowed` (422) unless `to` follows, or is, the current one."""
        stages = self.definition.get("stages")
        if to == current or stages is None:
            return
        following = stages.get(current, []) if current else stages
        if to not in stages or to not in following:
            raise STAGE_NOT_ALLOWED(f"From {current!r} no way leads to it.", "/stage")

    def check_fact(self, name: str, claim: Claim) -> None:
        """Raises 422 unless the field exists, takes this source and fits this value."""
        pointer = f"/facts/{name}"
        field = self._fields.get(name)
        if field is None:
            if "fields" in self.definition:
                raise FACT_NOT_ALLOWED(None, pointer)
            return
        _check_provenance(field, claim.provenance, f"{pointer}/provenance")
        if "schema" in field:
            place = f"{pointer}/value"
            check_value(field["schema"], claim.value, pointer=place, kind=FACT_INVALID)

    @property
    def _fields(self) -> Mapping[str, Any]:
        fields: Mapping[str, Any] = self.definition.get("fields", {})
        return fields


def check_definition(definition: Any) -> None:
    """Raises `workflow_invalid` or `schema_invalid` (422) with the place of the flaw."""
    check_value(_DEFINITION, definition, kind=WORKFLOW_INVALID)
    assert isinstance(definition, dict)
    for name, field in definition.get("fields", {}).items():
        check_schema(field.get("schema", {}), pointer=f"/fields/{name}/schema")
        if field.get("authority") and "model" in field.get("provenance", []):
            detail = "A model's inference never stands as authority."
            raise WORKFLOW_INVALID(detail, f"/fields/{name}/provenance")
    _check_stages(definition)


def _check_stages(definition: Mapping[str, Any]) -> None:
    stages = definition.get("stages", {})
    for stage, following in stages.items():
        for place, to in enumerate(following):
            if to not in stages:
                raise WORKFLOW_INVALID(None, f"/stages/{stage}/{place}")
    if "initial" in definition and definition["initial"] not in stages:
        raise WORKFLOW_INVALID("Not one of the stages.", "/initial")


def _check_provenance(
    field: Mapping[str, Any], source: Provenance, pointer: str
) -> None:
    if field.get("authority") and source == Provenance.MODEL:
        detail = "A model's inference never stands as authority."
        raise PROVENANCE_NOT_ALLOWED(detail, pointer)
    allowed = field.get("provenance", Provenance.values)
    if source not in allowed:
        raise PROVENANCE_NOT_ALLOWED(f"It takes: {', '.join(allowed)}.", pointer)
