"""`manage.py rollout ..`: the same as `python -m rollouts`."""

import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from django.core.management.base import BaseCommand

from rollouts.command import add_arguments, run


class Command(BaseCommand):
    help = "Explore a rollout of schema and application: proved, or the shortest way to break it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        code = run(Namespace(**options))
        if code:
            sys.exit(code)
