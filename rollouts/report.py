"""The report as text for a terminal, and as Markdown for a pull request."""

from collections.abc import Iterator

from rollouts.checks import Report, Trace
from rollouts.locks import BLOCKS, HoldUp

SIGNS = {"green": "ok", "amber": "no rollback", "red": "breaks"}


def _kind(trace: Trace) -> str:
    return trace.kind if trace.back_from is None else f"no rollback from deploy {trace.back_from}"


def _groups(report: Report) -> Iterator[tuple[str, list[Trace]]]:
    others = [one for one in report.findings if not one.counts]
    yield "", list(report.counted)
    yield "Going back one release would break it:", [one for one in others if not one.is_yours]
    yield "Yours already, without this rollout:", [one for one in others if one.is_yours]


def as_text(report: Report, *, searched: bool = False, words: bool = False) -> str:
    """`searched`: a repair was looked for. `words`: include those of Alembic and Django."""
    lines = [str(report.title), f"bounds: {report.bounds}"]
    for heading, traces in _groups(report):
        if traces and heading:
            lines += ["", heading]
        for one in traces:
            fault = f"{_kind(one)}: {one.fault} ({len(one.frames) - 1} steps)"
            lines += [f"  {fault}"] if heading else ["", fault]
            if not heading:
                lines += [f"  {number}. {text}" for number, text in enumerate(one.lines, 1)]
    lines += ["", "gates:"]
    lines += [
        f"  after deploy {gate.done}: release {' and '.join(gate.releases)}: {SIGNS[gate.color]}"
        for gate in report.gates
    ]
    lines += ["", "what occurred:", *(f"  {text}" for text in report.occurred)]
    if report.hold_ups:
        lines += ["", f"holds up others ({report.tried}; not explored):"]
        for held in report.hold_ups:
            lines.append(f"  deploy {held.deploy}: {held.text}: {_how(held)}")
            lines += [f"    {held.rule.instead}"] if held.rule.instead else []
    if words:
        lines += ["", *_words(report)]
    return "\n".join([*lines, *_repair(report, searched)])


def _how(held: HoldUp) -> str:
    reads, rewrites = "reads the table" if held.rule.reads else "", "rewrites it" if held.rule.rewrites else ""
    how = ", ".join(filter(None, [str(BLOCKS.get(held.rule.lock, "")), reads, rewrites]))
    return how or "reads and writes go on"


def _words(report: Report) -> Iterator[str]:
    for tool in ("alembic", "django"):
        yield f"in {tool.capitalize()}'s words:"
        for one in report.words:
            yield f"  # deploy {one.deploy}"
            yield from (f"  {line}" for line in getattr(one, tool))


def _repair(report: Report, searched: bool) -> list[str]:
    if not searched:
        return []
    if report.repair is None:
        return ["", "No change of the plan was found that is safe."]
    return ["", f"Safe, explored: {report.repair.what}."]


def as_markdown(report: Report, *, searched: bool = False) -> str:
    lines = [f"**{report.title}**", "", f"Bounds: {report.bounds}", ""]
    for one in report.counted:
        lines += [f"### {_kind(one)}", "", f"{one.fault}", ""]
        lines += [*(f"{number}. `{text}`" for number, text in enumerate(one.lines, 1)), ""]
    lines += ["| after deploy | releases | |", "|---|---|---|"]
    lines += [f"| {gate.done} | {' and '.join(gate.releases)} | {SIGNS[gate.color]} |" for gate in report.gates]
    if report.hold_ups:
        lines += ["", f"Holds up others ({report.tried}; not explored):", ""]
        lines += [f"- deploy {held.deploy}, `{held.text}`: {_how(held)}" for held in report.hold_ups]
    if report.words:
        lines += ["", "<details><summary>In the words of Alembic and Django</summary>", "", "```python"]
        lines += [*_words(report), "```", "</details>"]
    return "\n".join([*lines, *_repair(report, searched)])
