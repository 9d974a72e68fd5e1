"""`python -m tools.tlc`: ask TLC and the explorer everything, compare their answers and docs/reference/tla.md.

--write        write that page anew, after they agree
--keep FILE    keep each answer there, and take those that it has
--trace NAME   the counterexample of a model's Spec, as steps of `manage.py explore --steps`
"""

import json
import sys
from argparse import ArgumentParser
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path

from tools.tlc import page, variants
from tools.tlc.agreement import Question, Verdict, disagreements, questions
from tools.tlc.runs import run
from tools.tlc.traces import steps_of

PROCESSES = 2
"""Runs at once: the budget of `make prove` is for two cores."""


def main() -> int:
    parser = ArgumentParser(prog="python -m tools.tlc")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--trace", metavar="NAME")
    parser.add_argument("--config", metavar="NAME")
    options = parser.parse_args()
    if options.config:
        print(variants.question(dict(variants.models())[options.config], variants.ATOMIC).text(), end="")
        return 0
    if options.trace:
        model = dict(variants.models())[options.trace]
        result = run(variants.question(model, variants.SPEC, traced=True))
        print(" ".join(steps_of(result, late_enter=model.late_enter)))
        return 0
    answers = _kept(options.keep)
    waiting = [question for question in questions() if (question.name, question.grain) not in answers]
    with ProcessPoolExecutor(PROCESSES) as pool:
        for question, answer in zip(waiting, pool.map(_answer, waiting), strict=True):
            answers[question.name, question.grain] = answer
            print(f"{question.name}, {question.grain}: {answer}; {answer.cpu_s:.1f} s", flush=True)
            if options.keep is not None:
                with options.keep.open("a") as file:
                    file.write(json.dumps([question.name, question.grain, asdict(answer)]) + "\n")
    wrong = list(disagreements(answers))
    if not wrong and options.write:
        page.PAGE.write_text(page.with_tables(page.PAGE.read_text(encoding="utf-8"), answers), encoding="utf-8")
    if not wrong:
        wrong = page.differences(page.PAGE.read_text(encoding="utf-8"), answers)
    print("\n".join(wrong) or f"TLC and the explorer agree: {len(answers)} answers")
    return int(bool(wrong))


def _answer(question: Question) -> Verdict:
    return question.answer()


def _kept(file: Path | None) -> dict[tuple[str, str], Verdict]:
    if file is None or not file.exists():
        return {}
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return {(name, grain): Verdict(**answer) for name, grain, answer in rows}


if __name__ == "__main__":
    sys.exit(main())
