"""What a workflow permits: which facts, from whom, and which stage follows which.

Whatever a definition leaves out is permitted; but once it names its fields or its
stages, those are all there are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kernel.json_schema import check_schema, check_value, end_of_reading
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

UNPROVEN: Final = declare(
    "provenance_unproven", status=422, title="What vouches for the fact is missing"
)
FACT_MISSING: Final = declare(
    "fact_missing", status=409, title="A fact that this stage needs is not there"
)
FACT_STALE: Final = declare(
    "fact_stale", status=409, title="A fact that this stage needs is too old"
)

KIND: Final = "[-a-zA-Z0-9_]{1,63}"
"""What a kind of work can be called."""
FACT_NAME: Final = "^[a-z][a-z0-9_]{0,63}$"
STAGE_NAME: Final = "^[a-z][a-z0-9_-]{0,63}$"
_STAGE: Final = {"type": "string", "pattern": STAGE_NAME}
_TEXT: Final = {"type": "string", "maxLength": 500}
LIFETIMES: Final = ("run", "session", "record")
"""In words, of which none ends before its run; or a number of seconds."""
VISIBILITIES: Final = ("everyone", "people", "overseers")
OWNED: Final = ("session", "records", "retention", "recovery", "approvals")
_VERSION: Final = {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}
_DEFINITION: Final[Mapping[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "title": _TEXT,
        "second_admin": {"type": "boolean"},
        "description": {"type": "string", "maxLength": 4_000},
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
                    "description": _TEXT,
                    "lifetime": {
                        "anyOf": [
                            {"enum": list(LIFETIMES)},
                            {"type": "integer", "minimum": 1},
                        ]
                    },
                    "visibility": {"enum": list(VISIBILITIES)},
                    "system_of_record": _TEXT,
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
        "required": {
            "type": "object",
            "additionalProperties": {
                "type": "array",
                "items": {"type": "string", "pattern": FACT_NAME},
                "uniqueItems": True,
            },
        },
        "retention": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "days": {"type": "integer", "minimum": 1, "maximum": 36_500}
            },
        },
        "upgrades": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["from", "to"],
                "properties": {"from": _VERSION, "to": _VERSION, "description": _TEXT},
            },
        },
        "owners": {
            "type": "object",
            "additionalProperties": False,
            "properties": dict.fromkeys(OWNED, _TEXT),
        },
        "schema_versions": {
            "type": "array",
            "items": _VERSION,
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

    @property
    def authority(self) -> frozenset[str]:
        """The facts that it calls authority-bearing."""
        fields = self._fields.items()
        return frozenset(name for name, one in fields if one.get("authority"))

    def lifetime(self, name: str) -> int | None:
        """After how many seconds the fact is as if it had not been stated; None: never."""
        said = self._fields.get(name, {}).get("lifetime")
        return said if isinstance(said, int) else None

    def has_lapsed(self, name: str, age: float) -> bool:
        """Whether a fact that was observed `age` seconds ago is none any more."""
        lifetime = self.lifetime(name)
        return lifetime is not None and age > lifetime

    def shows_model(self, name: str) -> bool:
        """Whether the fact may be in a model's context."""
        return self._visibility(name) == "everyone"

    def shows_agent(self, name: str) -> bool:
        """Whether the agent may read the fact back."""
        return self._visibility(name) != "overseers"

    def shows_person(self, name: str, *, oversees: bool) -> bool:
        """Whether a member may read the fact's value; its name is no secret."""
        return oversees or self._visibility(name) != "overseers"

    @property
    def retention(self) -> int | None:
        """For how many days its runs are kept, unless the tenant says otherwise."""
        days: int | None = self.definition.get("retention", {}).get("days")
        return days

    def check_stage(self, current: str, to: str) -> None:
        """Raises `stage_not_allowed` (422) unless `to` follows, or is, the current one."""
        stages = self.definition.get("stages")
        if to == current or stages is None:
            return
        following = stages.get(current, []) if current else stages
        if to not in stages or to not in following:
            raise STAGE_NOT_ALLOWED(f"From {current!r} no way leads to it.", "/stage")

    def required(self, stage: str) -> Sequence[str]:
        """The facts without which the stage is not entered."""
        names: Sequence[str] = self.definition.get("required", {}).get(stage, ())
        return names

    def check_required(self, stage: str, ages: Mapping[str, float]) -> None:
        """Raises `fact_missing` or `fact_stale` (409) for what the stage needs.

        `ages` are those of the facts that the run states, in seconds.
        """
        for name in self.required(stage):
            if name not in ages or self.has_lapsed(name, ages[name]):
                raise FACT_MISSING(f"{stage} needs {name}.", "/stage", fact=name)
            most = self.max_age(name)
            if most is not None and ages[name] > most:
                raise FACT_STALE(
                    f"{name} was observed {ages[name]:,.0f} seconds ago;"
                    f" {most:,} are allowed.",
                    "/stage",
                    fact=name,
                    age_seconds=round(ages[name], 3),
                    max_age=most,
                )

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

    def _visibility(self, name: str) -> str:
        seen: str = self._fields.get(name, {}).get("visibility", "everyone")
        return seen

    @property
    def _fields(self) -> Mapping[str, Any]:
        fields: Mapping[str, Any] = self.definition.get("fields", {})
        return fields


def check_definition(definition: Any) -> None:
    """Raises `workflow_invalid`, `schema_invalid` or `schema_too_complex` (422) with the
    place of the flaw."""
    check_value(_DEFINITION, definition, kind=WORKFLOW_INVALID)
    assert isinstance(definition, dict)
    ends = end_of_reading()
    for name, field in definition.get("fields", {}).items():
        place = f"/fields/{name}/schema"
        check_schema(field.get("schema", {}), pointer=place, ends=ends)
        if field.get("authority") and "model" in field.get("provenance", []):
            detail = "A model's inference never stands as authority."
            raise WORKFLOW_INVALID(detail, f"/fields/{name}/provenance")
    _check_stages(definition)
    _check_required(definition)
    _check_upgrades(definition)


def _check_stages(definition: Mapping[str, Any]) -> None:
    stages = definition.get("stages", {})
    for stage, following in stages.items():
        for place, to in enumerate(following):
            if to not in stages:
                raise WORKFLOW_INVALID(None, f"/stages/{stage}/{place}")
    if "initial" in definition and definition["initial"] not in stages:
        raise WORKFLOW_INVALID("Not one of the stages.", "/initial")


def _check_required(definition: Mapping[str, Any]) -> None:
    fields, stages = definition.get("fields"), definition.get("stages", {})
    for stage, names in definition.get("required", {}).items():
        if stage not in stages:
            raise WORKFLOW_INVALID("Not one of the stages.", f"/required/{stage}")
        for place, name in enumerate(names):
            if fields is not None and name not in fields:
                raise WORKFLOW_INVALID(
                    "Not one of the fields.", f"/required/{stage}/{place}"
                )


def _check_upgrades(definition: Mapping[str, Any]) -> None:
    versions = definition.get("schema_versions", [])
    for place, step in enumerate(definition.get("upgrades", [])):
        if step["to"] <= step["from"] or step["to"] not in versions:
            detail = "A step leads upwards, to a schema version that is listed."
            raise WORKFLOW_INVALID(detail, f"/upgrades/{place}/to")


def check_proof(name: str, claim: Claim) -> None:
    """What an agent has to show for a fact that it did not just infer.

    Raises `provenance_unproven` (422) for a `user`, `system` or `tool` fact without a
    reference, and for a `tool` fact without the digest of the evidence.
    """
    if claim.provenance == Provenance.MODEL:
        return
    if not claim.reference.strip():
        detail = f"Say what of the {claim.provenance} proves it."
        raise UNPROVEN(detail, f"/facts/{name}/reference")
    if claim.provenance == Provenance.TOOL and not claim.evidence_digest.strip():
        detail = "Digest the tool's answer, so that it can be found again."
        raise UNPROVEN(detail, f"/facts/{name}/evidence_digest")


def _check_provenance(
    field: Mapping[str, Any], source: Provenance, pointer: str
) -> None:
    if field.get("authority") and source == Provenance.MODEL:
        detail = "A model's inference never stands as authority."
        raise PROVENANCE_NOT_ALLOWED(detail, pointer)
    allowed = field.get("provenance", Provenance.values)
    if source not in allowed:
        raise PROVENANCE_NOT_ALLOWED(f"It takes: {', '.join(allowed)}.", pointer)
