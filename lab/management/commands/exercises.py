"""`manage.py exercises ..`: lists or checks the chapters of the lab. Exit code 0: no fault; 1: faults; 2: bad usage."""

import json
import re
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from lab.exercises.checking import References, faults_of, tasks_of
from lab.exercises.shelf import Book, books, shelf
from lab.management.lab_command import LabCommand


class Command(LabCommand):
    help = "List the chapters of the lab, or check them: every step, every answer, every text."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("act", choices=("list", "check"), help="list the chapters, or check them")
        parser.add_argument(
            "folders", nargs="*", metavar="FOLDER", help="folders of chapters, instead of ours and EXERCISES_DIR's"
        )
        parser.add_argument("--json", action="store_true")

    def handle(self, *, act: str, folders: list[str], **options: Any) -> None:
        missing = next((name for name in folders if not Path(name).is_dir()), None)
        if missing is not None:
            raise CommandError(f"{missing} is no folder", returncode=2)
        found = shelf(*map(Path, folders)) if folders else books(settings.EXERCISES_DIR)
        if not found:
            raise CommandError(
                "there are no chapters: their folders are called NN-words, such as 01-one-jump", returncode=2
            )
        if act == "list":
            self._list(found, as_json=options["json"])
        else:
            self._check(found, as_json=options["json"])

    def _list(self, found: tuple[Book, ...], *, as_json: bool) -> None:
        lines = [_described(book) for book in found]
        if as_json:
            self.stdout.write(json.dumps(lines, indent=2, ensure_ascii=False))
            return
        for line in lines:
            tasks = ", ".join(f"{count} {kind}" for kind, count in line["tasks"].items())
            self.stdout.write(f"{line['chapter']:28} {line['title'] or '(cannot be read)'}  {tasks}")

    def _check(self, found: tuple[Book, ...], *, as_json: bool) -> None:
        began = time.monotonic()
        faults = {book.folder: [fault.why for fault in faults_of(book, known())] for book in found}
        seconds = time.monotonic() - began
        count = sum(map(len, faults.values()))
        if as_json:
            result = {"chapters": len(found), "faults": faults, "seconds": round(seconds, 3)}
            self.stdout.write(json.dumps(result, indent=2, ensure_ascii=False))
        else:
            for folder, whys in faults.items():
                for why in whys:
                    self.stdout.write(f"{folder}: {why}")
            self.stdout.write(
                f"{len(found)} chapters, {count or 'no'} fault{'' if count == 1 else 's'}, {seconds:.1f} s"
            )
        raise SystemExit(1 if count else 0)


def _described(book: Book) -> dict[str, Any]:
    chapter = book.chapter
    return {
        "chapter": book.folder,
        "title": book.text("en", "title"),
        "act": chapter.act if chapter else None,
        "minutes": chapter.minutes if chapter else None,
        "tasks": dict(tasks_of(chapter)) if chapter else {},
        "waits_for": chapter.waits_for if chapter else "",
    }


def known() -> References:
    protocol = (settings.BASE_DIR / "docs/reference/protocol.md").read_text(encoding="utf-8")
    rules = re.findall(r"\*\*([A-Z]\d+)\*\*", protocol) + re.findall(r"^\| (C\d) \|", protocol, re.MULTILINE)
    sections = re.findall(r"^## (\d+)\.", protocol, re.MULTILINE)
    return References(frozenset(rules), frozenset(sections), lambda path: (settings.BASE_DIR / path).is_file())
