"""Addresses of checkpoints and effects."""

from django.urls import path, register_converter

from checkpoints.api import checkpoints, effects

RUN = "api/v1/runs/<uuid:id>"


class PositiveConverter:
    """A checkpoint's number: anything else in its place is simply not there."""

    regex = "[1-9][0-9]{0,8}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)


register_converter(PositiveConverter, "positive")

urlpatterns = [
    path(f"{RUN}/checkpoints", checkpoints.CheckpointsView.as_view()),
    path(f"{RUN}/checkpoints/head", checkpoints.HeadView.as_view()),
    path(f"{RUN}/checkpoints/<positive:number>", checkpoints.CheckpointView.as_view()),
    path(f"{RUN}/checkpoints/head/restore", checkpoints.RestoreHeadView.as_view()),
    path(
        f"{RUN}/checkpoints/<positive:number>/restore",
        checkpoints.RestoreView.as_view(),
    ),
    path(f"{RUN}/checkpoints/<positive:number>/fork", checkpoints.ForkView.as_view()),
    path("api/v1/effects/<uuid:id>", effects.EffectView.as_view()),
]
