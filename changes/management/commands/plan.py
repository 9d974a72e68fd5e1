"""`manage.py plan "DDL"` or `--file F`: the steps of a change, their cost, dangers and proof. A file holds a
statement, or a plan as JSON (`changes.planning.custom_plan`). Exit code with `--prove`: 0 proved or nothing to prove,
1 violated, 3 unknown. A written plan that breaks a rule: 1."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from catalog.text.numbers import counted
from changes import proofs, services
from changes.management.refusals import refusals, statement_of
from changes.pages import writers
from changes.pages.change_page import tables
from changes.planning.custom_plan import MalformedPlan, read_plan
from changes.review.check import find_faults

EXIT_CODES = {"proved": 0, proofs.NOTHING: 0, "violated": 1, "unknown": 3}
Json = dict[str, Any]


class Command(BaseCommand):
    help = "Show the versions, reorganisations, dangers, estimated time and proof of a change; changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("statement", nargs="?", metavar="DDL")
        parser.add_argument("--file", metavar="F", help="read the statement, or a plan written as JSON, from a file")
        parser.add_argument(
            "--prove",
            action="store_true",
            help="exit 0 when proved (or nothing is to prove), 1 when violated, 3 when unknown",
        )
        parser.add_argument("--json", action="store_true", help="print the plan as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        text = statement_of(options["statement"], options["file"])
        is_written = options["file"] is not None and text.lstrip().startswith("{")
        with refusals("" if is_written else text):
            statement, foreseen = _written(text, options["file"]) if is_written else (text, services.plan_ahead(text))
            plan = services.described(statement, foreseen)
        faults = [
            {"step": fault.at + 1, "clauses": fault.clauses, "why": str(fault.why)}
            for fault in find_faults(foreseen.plan)
        ]
        found = {"faults": faults, "proof": proofs.wait(foreseen.plan)}
        if options["json"]:
            self.stdout.write(json.dumps(plan | found | {"plan": foreseen.plan.to_json()}, indent=2))
        else:
            self._show(plan)
            self._judge(found)
        code = 1 if faults else EXIT_CODES[found["proof"]["verdict"]] if options["prove"] else 0
        if code:
            raise SystemExit(code)

    def _show(self, plan: Json) -> None:
        about = "" if plan["rows_exact"] else "about "
        self.stdout.write(f"{tables(plan)}, {plan['title']}: {about}{counted(plan['rows'], 'row')}")
        for version in plan["versions"]:
            self.stdout.write(f"  {_numbers(plan, version)}: {_states(version)}")
        for step in plan["steps"]:
            mark = "   (cancel is possible until here)" if step["number"] == plan["turn"] else ""
            self.stdout.write(f"{step['number'] + 1:3}  {step['text']}{mark}")
        for run in plan["reorganisations"]:
            self.stdout.write(f"work: {run['text']}: {about}{counted(run['rows'], 'row')}, {_span(run['estimate'])}")
        for cost in plan["costs"]:
            self.stdout.write(f"cost: {cost}")
        for danger in plan["dangers"]:
            self.stdout.write(f"danger: {danger}")
        for refusal in plan["refusals"]:
            self.stdout.write(f"refused {writers.in_words(refusal)}")
        self.stdout.write(f"wait: {plan['waits']}")
        if plan["no_return"]:
            last = plan["no_return"]
            until = f"cancel is possible until step {last['number'] + 1}, {last['when']}"
            self.stdout.write(f"{until}: {last['why']}; afterwards undo is a new change")
        self.stdout.write(f"rollback: {plan['rollback']['summary']}")
        for step in plan["rollback"]["steps"]:
            self.stdout.write(f"     {step}")
        for change in plan["behind"]:
            self.stdout.write(f"waits behind change {change['id']}: {change['statement']}")
        if plan["takes"]:
            self.stdout.write(f"reorganisations take {_span(plan['takes'])}; waits for nodes come on top")

    def _judge(self, found: Json) -> None:
        for fault in found["faults"]:
            clauses = f" ({' and '.join(fault['clauses'])})" if fault["clauses"] else ""
            self.stdout.write(f"refused at step {fault['step']}{clauses}: {fault['why']}")
        for line in proofs.in_words(found["proof"]):
            self.stdout.write(line)


def _span(estimate: Json) -> str:
    return f"{estimate['least_s']} to {estimate['most_s']} s, under load up to {estimate['loaded_s']} s"


def _numbers(plan: Json, version: Json) -> str:
    others = [f"{one['table']} v{one['version']}" for one in version["partners"]]
    return " · ".join([f"{plan['table']} v{version['version']}", *others]) if others else f"v{version['version']}"


def _states(version: Json) -> str:
    cells = [
        f"{cell['element']} {cell['state']}{' (filling)' if cell['filling'] else ''}{' *' if cell['is_moved'] else ''}"
        for cell in version["states"]
    ]
    return "; ".join([*cells, *version["edits"]]) or "as it is"


def _written(text: str, file: str) -> tuple[str, services.Foreseen]:
    try:
        body = json.loads(text)
        plan = read_plan(body, lambda statement: services.plan_ahead(statement).plan)
    except (json.JSONDecodeError, RecursionError) as error:
        raise CommandError(f"{file} is no JSON: {error}", returncode=2) from error
    except MalformedPlan as error:
        raise CommandError(f"{file}: {error}", returncode=2) from error
    return str(body.get("statement", "")), services.Foreseen(plan, is_exact=False)
