from django.apps import AppConfig


class HouseConfig(AppConfig):
    name = "config"
    label = "keyturn_config"
