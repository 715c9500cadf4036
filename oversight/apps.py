from django.apps import AppConfig


class OversightConfig(AppConfig):
    name = "oversight"
    label = "oversight"
