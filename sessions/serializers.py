"""Bodies that the sessions' doors accept, and the documents they answer with."""

from typing import Any, Final

from rest_framework import serializers

from sessions.contract import FACT_NAME, KIND, Claim
from sessions.models import Provenance, Run
from tenants.rest.strict import QuerySerializer, StrictSerializer

LEAST_LEASE: Final = 5
MOST_LEASE: Final = 3_600
SAYABLE: Final = [each for each in Provenance.values if each != Provenance.REVIEWER]
MANY: Final = 200
MOST_NUMBER: Final = 2**31 - 1
LAPSED: Final = "Its lifetime is over: by now it counts as not stated."


class Text(serializers.CharField):
    """Text as it came: nothing is trimmed from what is somebody's own."""

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, **options)


class Word(serializers.RegexField):
    """Exactly what the pattern says, from the first character to the last."""

    def __init__(self, pattern: str, **options: Any) -> None:
        super().__init__(rf"^(?:{pattern})\Z", trim_whitespace=False, **options)


class NothingSerializer(StrictSerializer):
    """A body that says nothing: `{}`, or none at all."""


class SessionSerializer(StrictSerializer):
    """A session to open."""

    subject = Text(max_length=255)
    title = Text(required=False, allow_blank=True, max_length=200)
    external_id = Text(required=False, allow_null=True, max_length=255)


class SessionQuery(QuerySerializer):
    """Which sessions are wanted."""

    external_id = serializers.CharField(required=False, trim_whitespace=False)
    cursor = serializers.CharField(required=False)
    limit = serializers.CharField(required=False)


class LineSerializer(StrictSerializer):
    """Where in a session: the branch of a run, or one by its number (0: the trunk)."""

    run = serializers.UUIDField(required=False)
    branch = serializers.IntegerField(
        required=False, min_value=0, max_value=MOST_NUMBER
    )


class ItemsSerializer(LineSerializer):
    """Items to add; each is kept as the exact JSON text that arrived."""

    run = serializers.UUIDField(required=False, allow_null=True)
    items = serializers.ListField(child=serializers.JSONField(), max_length=1_000)


class RemovalSerializer(LineSerializer):
    """All items of a branch are taken back."""

    reason = Text(required=False, allow_blank=True, max_length=2_000)


class ReplaceSerializer(RemovalSerializer):
    """All items of a branch, said anew; unless they changed after `expected_last`."""

    items = serializers.ListField(child=serializers.JSONField(), max_length=10_000)
    expected_last = serializers.IntegerField(
        required=False, min_value=0, max_value=2**53 - 1
    )


class BranchSerializer(StrictSerializer):
    """Which branch to begin another on, and after which position of it."""

    origin = serializers.IntegerField(
        required=False, min_value=0, max_value=MOST_NUMBER
    )
    at = serializers.IntegerField(
        required=False, allow_null=True, min_value=0, max_value=2**53 - 1
    )


class ItemsQuery(QuerySerializer):
    """How many of the latest items are wanted; without a limit, as many as fit."""

    limit = Word(r"[0-9]{1,18}", required=False)
    branch = Word(r"[0-9]{1,9}", required=False)
    before = Word(r"[0-9]{1,18}", required=False)


class LeaseSerializer(StrictSerializer):
    """For how many seconds the caller wants to be the run's one writer."""

    lease_seconds = serializers.IntegerField(
        required=False, min_value=LEAST_LEASE, max_value=MOST_LEASE
    )


class RunSerializer(LeaseSerializer):
    """A run to start."""

    workflow = Word(KIND, required=False)
    branch = serializers.IntegerField(
        required=False, min_value=0, max_value=MOST_NUMBER
    )
    external_id = Text(required=False, allow_null=True, max_length=255)


class RunQuery(QuerySerializer):
    """Which runs are wanted."""

    state = serializers.ChoiceField(Run.State.choices, required=False)
    external_id = serializers.CharField(required=False, trim_whitespace=False)
    cursor = serializers.CharField(required=False)
    limit = serializers.CharField(required=False)


class PageQuery(QuerySerializer):
    """Which page of a list is wanted."""

    cursor = serializers.CharField(required=False)
    limit = serializers.CharField(required=False)


class StateQuery(QuerySerializer):
    """Which state of a run is wanted: at a version of its facts, or at a time."""

    version = Word(r"[0-9]{1,18}", required=False)
    at = serializers.DateTimeField(required=False)


class DiffQuery(QuerySerializer):
    """Between which two versions; without them, what the last change came to."""

    before = Word(r"[0-9]{1,18}", required=False)
    after = Word(r"[0-9]{1,18}", required=False)


class FactSerializer(StrictSerializer):
    """One fact as it is stated, and what vouches for it."""

    value = serializers.JSONField(allow_null=True)
    provenance = serializers.ChoiceField(SAYABLE)
    reference = Text(required=False, allow_blank=True, max_length=500)
    evidence_digest = Text(required=False, allow_blank=True, max_length=128)


class TransitionSerializer(StrictSerializer):
    """A change of facts or stage. `expected_version` may come as `If-Match` instead."""

    expected_version = serializers.IntegerField(required=False, min_value=0)
    stage = Text(required=False, max_length=64)
    facts = serializers.DictField(child=FactSerializer(), required=False)
    reason = Text(max_length=2_000)

    def validate_facts(self, facts: dict[str, Any]) -> dict[str, Claim]:
        """Named facts, at most a few hundred, as claims."""
        if len(facts) > MANY:
            raise serializers.ValidationError(f"At most {MANY} facts at once.")
        for name in facts:
            _check_name(name)
        return {name: _claim(fact) for name, fact in facts.items()}


class ResultSerializer(StrictSerializer):
    """What a completed run came to."""

    result = serializers.JSONField(required=False, allow_null=True)


class EndSerializer(StrictSerializer):
    """Why a run ends otherwise."""

    reason = Text(max_length=2_000)


class SessionDocument(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    subject = serializers.CharField()
    title = serializers.CharField()
    external_id = serializers.CharField(allow_null=True)
    state = serializers.ChoiceField(["open", "waiting"])
    created_at = serializers.DateTimeField()


class SessionPage(serializers.Serializer[Any]):
    items = SessionDocument(many=True)
    next = serializers.CharField(allow_null=True, help_text="The next `cursor`.")


class ItemDocument(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    position = serializers.IntegerField()
    run = serializers.UUIDField(allow_null=True)
    fence = serializers.IntegerField(
        allow_null=True, help_text="Of the run's writer who added it."
    )
    branch = serializers.IntegerField(help_text="The one that it was added to.")
    data = serializers.JSONField()  # type: ignore[assignment]  # the API calls it so
    created_at = serializers.DateTimeField()


class ItemsDocument(serializers.Serializer[Any]):
    items = ItemDocument(many=True)
    more = serializers.BooleanField(
        help_text="Whether there are older ones: ask `before` the first position."
    )


class PlaceDocument(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    position = serializers.IntegerField()


class PlacesDocument(serializers.Serializer[Any]):
    items = PlaceDocument(many=True)


class PoppedDocument(serializers.Serializer[Any]):
    item = ItemDocument(allow_null=True, help_text="Null: there was none.")


class RemovedDocument(serializers.Serializer[Any]):
    removed = serializers.IntegerField(help_text="How many items were taken back.")


class BranchDocument(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    origin = serializers.IntegerField(help_text="The branch it left; 0 is the trunk.")
    at = serializers.IntegerField(help_text="The origin's last position taken along.")
    created_at = serializers.DateTimeField()


class BranchPage(serializers.Serializer[Any]):
    items = BranchDocument(many=True)
    next = serializers.CharField(allow_null=True, help_text="The next `cursor`.")


class HeadDocument(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    digest = serializers.CharField(help_text="SHA-256, 64 hex digits.")


class FactDocument(serializers.Serializer[Any]):
    value = serializers.JSONField()
    provenance = serializers.ChoiceField(Provenance.choices)
    reference = serializers.CharField()
    evidence_digest = serializers.CharField()
    observed_at = serializers.DateTimeField()
    age_seconds = serializers.FloatField()
    version = serializers.IntegerField()
    lapsed = serializers.BooleanField(help_text=LAPSED)


class FactThenDocument(serializers.Serializer[Any]):
    value = serializers.JSONField()
    provenance = serializers.CharField()
    reference = serializers.CharField()
    evidence_digest = serializers.CharField()
    observed_at = serializers.DateTimeField()
    version = serializers.IntegerField()
    lapsed = serializers.BooleanField(help_text=LAPSED)


class StateDocument(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    seq = serializers.IntegerField(help_text="The transition that led there.")
    state = serializers.ChoiceField(Run.State.choices)
    stage = serializers.CharField()
    at = serializers.DateTimeField()
    facts = serializers.DictField(child=FactThenDocument())


class FactDiffDocument(serializers.Serializer[Any]):
    name = serializers.CharField()
    before = FactThenDocument(allow_null=True)
    after = FactThenDocument(allow_null=True)


class PlaceInHistory(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    state = serializers.ChoiceField(Run.State.choices)
    stage = serializers.CharField()
    at = serializers.DateTimeField()


class DiffDocument(serializers.Serializer[Any]):
    before = PlaceInHistory()
    after = PlaceInHistory()
    facts = FactDiffDocument(many=True)


class RunSummary(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    session = serializers.UUIDField()
    state = serializers.ChoiceField(Run.State.choices)
    workflow = serializers.CharField()
    workflow_version = serializers.IntegerField()
    stage = serializers.CharField()
    branch = serializers.IntegerField(help_text="Of the session; 0 is its trunk.")
    external_id = serializers.CharField(allow_null=True)
    fence = serializers.IntegerField()
    lease_until = serializers.DateTimeField(allow_null=True)
    head = HeadDocument(allow_null=True)
    version = serializers.IntegerField(help_text="Of the facts; also the ETag.")
    reason = serializers.CharField()
    result = serializers.JSONField(allow_null=True)
    asks_only = serializers.BooleanField(
        help_text="It opened with what was asked in one call, and nothing else was done"
        " in it: whoever reports the last outcome ends it."
    )
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class RunDocument(RunSummary):
    facts = serializers.DictField(child=FactDocument())
    open_requests = serializers.ListField(child=serializers.UUIDField())


class RunPage(serializers.Serializer[Any]):
    items = RunSummary(many=True)
    next = serializers.CharField(allow_null=True, help_text="The next `cursor`.")


class VersionDocument(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    seq = serializers.IntegerField()


class TransitionDocument(VersionDocument):
    from_state = serializers.CharField()
    to_state = serializers.CharField()
    from_stage = serializers.CharField()
    to_stage = serializers.CharField()
    changes = serializers.DictField()
    actor = serializers.DictField()
    reason = serializers.CharField()
    created_at = serializers.DateTimeField()


class TransitionPage(serializers.Serializer[Any]):
    items = TransitionDocument(many=True)
    next = serializers.CharField(allow_null=True, help_text="The next `cursor`.")


class WorkflowQuery(QuerySerializer):
    """Which version is wanted; the one in force unless it is said."""

    version = Word(r"[0-9]{1,9}", required=False)


class WorkflowSummary(serializers.Serializer[Any]):
    kind = serializers.CharField()
    version = serializers.IntegerField()
    title = serializers.CharField()
    description = serializers.CharField()
    created_at = serializers.DateTimeField()


class WorkflowPage(serializers.Serializer[Any]):
    items = WorkflowSummary(many=True)
    next = serializers.CharField(allow_null=True, help_text="The next `cursor`.")


class WorkflowDocument(serializers.Serializer[Any]):
    kind = serializers.CharField()
    version = serializers.IntegerField()
    title = serializers.CharField()
    description = serializers.CharField()
    definition = serializers.DictField(
        help_text="As published: `fields` with their forms and sources, `stages` with"
        " what may follow each, `required` facts; what is left out is permitted."
    )
    versions = serializers.ListField(child=serializers.IntegerField())
    created_at = serializers.DateTimeField()


def _check_name(name: str) -> None:
    try:
        Word(FACT_NAME).run_validation(name)
    except serializers.ValidationError as error:
        raise serializers.ValidationError({name: error.detail}) from None


def _claim(fact: dict[str, Any]) -> Claim:
    return Claim(**{**fact, "provenance": Provenance(fact["provenance"])})
