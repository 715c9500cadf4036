from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    name = "approvals"
    label = "approvals"

    def ready(self) -> None:
        """Tell the runs below what of theirs is open here, and how it is closed."""
        # Apps load their models first; these imports need them.
        from approvals.context.critical import critical_items  # noqa: PLC0415
        from approvals.letters import register  # noqa: PLC0415
        from approvals.notices import tell_people  # noqa: PLC0415
        from approvals.outbox import tell_webhooks  # noqa: PLC0415
        from approvals.queries import open_requests  # noqa: PLC0415
        from approvals.services.ending_runs import close_questions  # noqa: PLC0415
        from sessions.hooks import hooks  # noqa: PLC0415
        from tenants.verbs import register_telling  # noqa: PLC0415

        hooks.open_requests = open_requests
        hooks.closing = close_questions
        hooks.critical = critical_items
        register()
        register_telling(tell_webhooks, tell_people)
