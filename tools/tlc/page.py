"""The tables of docs/reference/tla.md. Their processor seconds are of the run that wrote it, and are not compared."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from lab.explorer.model import Model
from lab.explorer.spaces.reduced_space import fits
from lab.sessions.session import Session, encode
from tools.tlc import variants
from tools.tlc.agreement import EXPLORER, LIVENESS, REFINES, Verdict

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "tla.md"
TABLES = "## The tables\n"

Answers = Mapping[tuple[str, str], Verdict]

WHY_OTHERWISE = {
    "rollback-with-zombie": "a transaction takes three events in Spec and one in Atomic, so what needs none is first",
    "no-fence-drop": "Spec also judges what a reader finds, and that breaks before an entry is left",
    "version-newer-than-the-snapshot": "Spec also judges what a reader finds, and that breaks before an entry is left",
}
"""Models whose Spec breaks another clause than the explorer names."""

REPLAYED = {
    "index-without-delete-only": "given.1 publish.2 n1.acquire n1.begin n1.read.1 n1.write.update.1.2 n1.commit",
    "three-live-versions": "given.1 publish.2 publish.3 n1.acquire n1.begin n1.read.1 n1.write.update.1.2 n1.commit",
    "drop-without-write-only": "given.1 publish.2 n1.acquire n1.begin n1.read.1 n1.write.update.1.2 n1.commit",
    "fill-puts-blindly": "given.1 n1.expire n2.expire publish.2 publish.3 n1.acquire n1.begin drain.3 clear"
    " fill.read.1.1 n1.read.1 n1.write.update.1.2 n1.commit fill.put.1.1",
    "fence-without-lock": "given.1 n1.begin n1.pin n1.enter n1.expire n2.expire publish.2 publish.3 drain.3 clear"
    " fill.read.1.1 n1.read.1 n1.write.update.1.2 n1.commit fill.put.1.1",
    "rollback-with-zombie": "given.1 n1.expire n2.expire publish.2 publish.3 drain.3 clear fill.read.1.1 cancel"
    " publish.4 n1.acquire n1.begin fill.put.1.1 n1.read.1 n1.write.update.1.2 n1.commit",
}
"""Counterexamples of TLC as steps, as `python -m tools.tlc --trace NAME` printed them; the last one is of Refines."""


def replayed_model(name: str) -> Model:
    """The model on which a trace is replayed: Spec's, with one row."""
    return replace(dict(variants.models())[name], rows=1, ranges=1)


def with_tables(text: str, answers: Answers) -> str:
    head = text.partition(TABLES)[0]
    return f"{head}{TABLES}\n" + "\n".join(_tables(answers))


def differences(text: str, answers: Answers) -> list[str]:
    """The lines of these answers that the page lacks, processor seconds apart."""
    known = {_without_seconds(line) for line in text.splitlines()}
    return [f"not in {PAGE.name}: {line}" for line in _tables(answers) if _without_seconds(line) not in known]


def _without_seconds(line: str) -> str:
    """The line without seconds, and without links, which hold the fingerprint of all rules."""
    return re.sub(r"; [\d.]+ s\b|\?s=\S+", "", line)


def _tables(answers: Answers) -> Iterator[str]:
    yield "### Safety"
    yield ""
    yield from _header("variant", "Atomic", "Spec", "explorer", "bounds", "why the clauses differ")
    for name, model in variants.models():
        cells = [_cell(answers.get((name, grain))) for grain in (variants.ATOMIC, variants.SPEC, EXPLORER)]
        yield _row(
            name, *cells, _bounds(model, with_spec=(name, variants.SPEC) in answers), WHY_OTHERWISE.get(name, "")
        )
    repair = _cell(answers[variants.NOT_READ_AGAIN, variants.ATOMIC])
    yield _row(
        variants.NOT_READ_AGAIN, repair, "", "", "2 rows, 2 values; 1 worker", "the explorer does not repair (R10)"
    )
    yield ""
    yield "### Refines"
    yield ""
    yield from _header(
        "plan, rule left out", "each step of Spec is one of Atomic", "the explorer takes a proof", "bounds"
    )
    for name, model in variants.reductions():
        sizes = f"2 nodes, {_counted(model.rows, 'row')}, {_counted(model.values, 'value')}; 1 worker"
        yield _row(name, _cell(answers[name, REFINES]), "yes" if fits(model) else "no", sizes)
    yield ""
    yield "### Liveness"
    yield ""
    yield from _header("fair", "each change ends", "bounds")
    for name, (plan, _, _) in variants.LIVENESS.items():
        of = "an addition" if plan == variants.ADD else "a drop"
        yield _row(name, _cell(answers[name, LIVENESS]), f"{of}; 2 nodes, 1 row, 1 value; 1 worker, no symmetry")
    yield ""
    for name in variants.LIVENESS:
        if story := answers[name, LIVENESS].story:
            yield f"- {name}: {story}."
    yield ""
    yield "### Traces of TLC on the stage"
    yield ""
    for name, steps in REPLAYED.items():
        yield f"- {name}: `{steps}`, as `/lab/stage/?s={stage_link(name)}`"


def stage_link(name: str) -> str:
    """The part of the stage's address after `s=` that opens a trace."""
    model = json.dumps(replayed_model(name).to_json())
    steps = tuple(REPLAYED[name].split(" "))
    return encode(Session("model", {"model": model}, steps=steps), len(steps))


def _bounds(model: Model, *, with_spec: bool) -> str:
    spec = f"; Spec: 2 nodes, 1 row, {_counted(model.values, 'value')}" if with_spec else ""
    return f"{_counted(model.rows, 'row')}, {_counted(model.values, 'value')}{spec}; 1 worker"


def _counted(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


def _cell(answer: Verdict | None) -> str:
    return "" if answer is None else f"{answer}; {answer.cpu_s:.1f} s"


def _header(*cells: str) -> Iterator[str]:
    yield _row(*cells)
    yield "|" + "---|" * len(cells)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
