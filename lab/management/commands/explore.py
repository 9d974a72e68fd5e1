"""`manage.py explore ..`: every schedule of a small model of a change. Exit code 0: proved; 1: violated, with a
counterexample; 2: bad usage; 3: unknown, the budget was spent."""

import json
import signal
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from lab.diagrams.traces import picture_of_answer
from lab.explorer.cache import keep, known_answer
from lab.explorer.model import ANY_NUMBER, BadModel, Model, broken_named, kinds_described, model_in, stage_named
from lab.explorer.plans.program import plan_of
from lab.explorer.rules_left_out import Broken
from lab.explorer.spaces.search import Budget, Progress
from lab.explorer.variant import Variant
from lab.explorer.variants import all_variants
from lab.explorer.variants_page import write_table
from lab.explorer.verdict import Answer, Verdict, explore
from lab.management.lab_command import LabCommand, write_file
from lab.sessions.replay import BadSession, show
from lab.sessions.session import Session

EXIT_CODES = {Verdict.PROVED: 0, Verdict.VIOLATED: 1, Verdict.UNKNOWN: 3}


class Command(LabCommand):
    help = "Explore every schedule of a small model of a schema change: a proof, a counterexample, or unknown."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--kind",
            help="index, unique-index, optional-column, required-column, table, constraint, placement, foreign-key, "
            "self-reference; several with + between them",
        )
        parser.add_argument("--states", help="one per version, such as absent,delete-only,write-only,public")
        parser.add_argument("--fill", default="correct", help=f"rules left out: {', '.join(b.value for b in Broken)}")
        for size, usual in (("nodes", 2), ("rows", 2), ("values", 2), ("versions", 2), ("crashes", 1)):
            parser.add_argument(f"--{size}", type=int, default=usual, help=f"{usual} by default")
        parser.add_argument("--ranges", type=int, help="of the fill; 2 unless there are fewer rows")
        parser.add_argument(
            "--operations", type=int, default=ANY_NUMBER, help="transactions in all; any number by default"
        )
        parser.add_argument("--no-fence", action="store_true", help="leases alone keep old versions out")
        parser.add_argument(
            "--coordination", default="lease", help="lease, hash or both; of two tables child's+parent's"
        )
        parser.add_argument("--storages", default="", help="of the old+new placement, such as 2+3; 2+2 by default")
        parser.add_argument("--widths", default="", help="types of an integer column, such as narrow,bounded,wide")
        for option in ("moves", "nulls", "cancels", "pair", "apart", "check", "partial", "late-enter"):
            parser.add_argument(f"--{option}", action="store_true")
        parser.add_argument("--model", metavar="FILE", help="a model as this command prints it")
        parser.add_argument("--variant", metavar="NAME", help="a built-in model")
        parser.add_argument("--list", action="store_true", help="the built-in models")
        parser.add_argument(
            "--table", action="store_true", help="explore all built-in models, print the page about them"
        )
        parser.add_argument(
            "--steps", metavar="IDS", help="do not explore: stand after these steps, say what may be next"
        )
        parser.add_argument("--again", action="store_true", help="explore although the answer is known")
        parser.add_argument("--max-states", type=int, default=Budget().states)
        parser.add_argument("--max-seconds", type=float, default=Budget().seconds)
        parser.add_argument("--svg", metavar="FILE", help="write the counterexample there as a sequence diagram")
        parser.add_argument("--json", action="store_true")

    def handle(self, **options: Any) -> None:
        if options["list"]:
            self._list(as_json=options["json"])
            return
        budget = Budget(options["max_states"], options["max_seconds"])
        if options["table"]:
            self._table(budget)
            return
        model = _model(options)
        if options["steps"] is not None:
            self.stdout.write(json.dumps(_position(model, options["steps"].replace(",", " ").split()), indent=2))
            return
        answer, is_known = self._answer(model, budget, options)
        if options["svg"] is not None:
            write_file(options["svg"], picture_of_answer(answer))
        if options["json"]:
            self.stdout.write(json.dumps(answer.to_json() | {"known": is_known}, indent=2))
        else:
            self._print(answer, is_known=is_known)
        raise SystemExit(EXIT_CODES[answer.verdict])

    def _answer(self, model: Model, budget: Budget, options: dict[str, Any]) -> tuple[Answer, bool]:
        known = None if options["again"] else known_answer(settings.HOME, model)
        if known is not None:
            return known, True
        with _interrupts() as interrupts:
            answer = explore(model, budget=budget, watch=self._watch(interrupts, quiet=options["json"]))
        keep(settings.HOME, answer)
        return answer, False

    def _list(self, *, as_json: bool) -> None:
        variants = all_variants().values()
        if as_json:
            self.stdout.write(
                json.dumps(
                    [
                        {
                            "name": variant.name,
                            "section": variant.section,
                            "breaks": variant.breaks,
                            "title": variant.model.title,
                            "model": variant.model.to_json(),
                        }
                        for variant in variants
                    ],
                    indent=2,
                )
            )
            return
        for variant in variants:
            expected = f"breaks {variant.breaks}" if variant.breaks else "proved"
            self.stdout.write(f"{variant.name:40} {expected:14} {variant.model.title}")

    def _table(self, budget: Budget) -> None:
        answers = []
        with _interrupts() as interrupts:
            for number, variant in enumerate(all_variants().values(), 1):
                answer = explore(variant.model, budget=budget, watch=self._watch(interrupts, quiet=True))
                if answer.verdict is Verdict.UNKNOWN:
                    raise CommandError(f"{variant.name}: {answer.why}", returncode=EXIT_CODES[answer.verdict])
                if self.stderr.isatty():
                    self.stderr.write(f"{number} of {len(all_variants())}: {variant.name}")
                answers.append((variant, answer))
        self.stdout.write(write_table(answers), ending="")

    def _print(self, answer: Answer, *, is_known: bool) -> None:
        self.stdout.write(f"{answer.model.title}\n{answer.model.bounds}")
        self.stdout.write(
            f"{answer.verdict.value}: {answer.states} states, {answer.depth} events deep, {answer.seconds:.2f} s"
            + (" (known from before: --again explores it anew)" if is_known else "")
        )
        for number, step in enumerate(answer.to_json()["counterexample"], 1):
            self.stdout.write(f"{number:3}  {step['id']:24} {step['sentence']}")
        for fault in answer.faults:
            self.stdout.write(f"{fault.clause} under v{fault.version}: {fault.why}")
        for sentence, happened in answer.sometimes.items():
            self.stdout.write(f"{'it happened' if happened else 'NEVER HAPPENED'}: {sentence}")
        if answer.why:
            self.stdout.write(str(answer.why))

    def _watch(self, interrupts: list[int], *, quiet: bool) -> Callable[[Progress], bool]:
        def watch(progress: Progress) -> bool:
            if not quiet and self.stderr.isatty():
                self.stderr.write(
                    f"\r{progress.states} states, {progress.depth} deep, {progress.seconds:.0f} s", ending=""
                )
            return not interrupts

        return watch


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Ctrl-C stops the search, whose verdict is then unknown, instead of the process."""
    noted: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: noted.append(number))
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)


def _model(options: dict[str, Any]) -> Model:
    try:
        model = _asked_for(options)
        plan_of(model)
    except BadModel as error:
        raise CommandError(str(error), returncode=2) from error
    return model


def _asked_for(options: dict[str, Any]) -> Model:
    if options["variant"]:
        return _variant(options["variant"]).model
    if options["model"]:
        file = Path(options["model"])
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadModel(f"{file} holds no model: {error}") from error
        return model_in(text)
    if not (options["kind"] and options["states"]):
        raise BadModel("say --kind and --states, or --variant NAME (--list shows them)")
    return _described(options)


def _described(options: dict[str, Any]) -> Model:
    broken = frozenset(broken_named(text) for text in options["fill"].split(",") if text.strip() != "correct")
    ranges = options["ranges"] if options["ranges"] is not None else max(1, min(2, options["rows"]))
    sizes = {size: options[size] for size in ("nodes", "rows", "values", "operations", "versions", "crashes")}
    sizes |= {name: options[name] for name in ("coordination", "storages", "widths")}
    flags = {
        flag: options[flag] for flag in ("moves", "nulls", "cancels", "pair", "apart", "check", "partial", "late_enter")
    }
    stages = tuple(stage_named(text) for text in options["states"].split(","))
    kinds, fence = kinds_described(options["kind"]), not options["no_fence"]
    return Model(stages=stages, broken=broken, ranges=ranges, fence=fence, **kinds, **sizes, **flags)


def _position(model: Model, steps: list[str]) -> dict[str, Any]:
    session = Session("model", {"model": json.dumps(model.to_json())}, steps=tuple(steps))
    try:
        shown = show(session, single_steps=True)
    except BadSession as error:
        raise CommandError(str(error), returncode=2) from error
    refused = shown.refused
    may, may_not = ([o for o in shown.offers if bool(o.why_not) is is_refused] for is_refused in (False, True))
    return {
        "model": model.to_json(),
        "hash": model.digest,
        "steps": [{"id": line.id, "sentence": str(line.text)} for line in shown.trace],
        "refused": "" if refused is None else f"step {refused.at + 1}, {refused.step}, may not be taken: {refused.why}",
        "enabled": [{"id": offer.id, "actor": offer.actor} for offer in may],
        "disabled": [{"id": o.id, "actor": o.actor, "why": str(o.why_not), "rule": o.rule} for o in may_not],
        "broken": [
            {"clause": v.clause, "version": v.version, "why": str(v.why), "severity": v.severity.value}
            for v in shown.verdicts
        ],
    }


def _variant(name: str) -> Variant:
    found = all_variants().get(name)
    if found is None:
        raise BadModel(f"there is no variant {name}; manage.py explore --list shows them")
    return found
