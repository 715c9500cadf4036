from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    name = "approvals"
    label = "approvals"

    def ready(self) -> None:
        """Tell a run, which cannot look upwards, what is asked about it."""
        # Models can be imported only now.
        from approvals.queries import open_request_ids  # noqa: PLC0415
        from sessions.hooks import hooks  # noqa: PLC0415

        hooks.open_requests = open_request_ids
