"""`manage.py script FILE..`: runs golden scripts and compares their output with the recorded one. Exit code 0: all as
recorded; 1: some differ; 2: a file that is no script."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from lab.scripts.golden import BadScript, Playback, play


class Command(BaseCommand):
    help = "Run golden scripts on a cluster in memory and compare what they say with what was recorded."
    requires_system_checks: tuple[str, ...] = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "files", nargs="+", metavar="FILE", help="scripts, such as tests/scripts/leases/drain.script"
        )
        parser.add_argument("--record", action="store_true", help="write what they say now into the files")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *, files: list[str], record: bool, **options: Any) -> None:
        played = {name: self._play(Path(name)) for name in files}
        if record:
            for name, one in played.items():
                Path(name).write_text(one.text, encoding="utf-8")
        if options["json"]:
            result = [
                {"file": name, "why": one.why, "same": one.is_same, "differences": list(one.differences())}
                for name, one in played.items()
            ]
            self.stdout.write(json.dumps(result, indent=2))
        else:
            self._print(played, is_recorded=record)
        if any(one.has_surprises or not (record or one.is_same) for one in played.values()):
            raise SystemExit(1)

    def _play(self, path: Path) -> Playback:
        try:
            return play(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise CommandError(f"cannot read {path}: {error.strerror}", returncode=2) from error
        except (BadScript, UnicodeDecodeError) as error:
            raise CommandError(f"{path} is no script: {error}", returncode=2) from error

    def _print(self, played: dict[str, Playback], *, is_recorded: bool) -> None:
        for name, one in played.items():
            verdict = "recorded" if is_recorded else "as recorded" if one.is_same else "says something else"
            self.stdout.write(f"{name}: {verdict}")
            if not is_recorded or one.has_surprises:
                for line in one.differences():
                    self.stdout.write(f"  {line}")
