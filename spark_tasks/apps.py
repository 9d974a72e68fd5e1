from django.apps import AppConfig


class SparkTasksConfig(AppConfig):
    name = "spark_tasks"
