"""The answer as text for a terminal, and as Markdown for a pull request."""

from collections.abc import Iterator

from rollouts.findings import Answer, title_of
from rollouts.locks import BLOCKS, TRIED_ON
from rollouts.narration import Narrator
from rollouts.repairs import Repair
from rollouts.search import Finding

SIGNS = {"green": "ok", "amber": "no rollback", "red": "breaks"}


def _kind(finding: Finding) -> str:
    return finding.kind if finding.back_from is None else f"no rollback from deploy {finding.back_from}"


def _groups(answer: Answer) -> Iterator[tuple[str, list[Finding]]]:
    counted = answer.counted
    others = [one for one in answer.outcome.findings if one not in counted]
    yield "", counted
    yield "Going back one release would break it:", [one for one in others if not one.is_yours]
    yield "Yours already, without this rollout:", [one for one in others if one.is_yours]


def as_text(answer: Answer, repair: Repair | None = None, *, searched: bool = False) -> str:
    """The answer in lines of plain text."""
    narrator = Narrator(answer.model)
    lines = [str(title_of(answer)), f"bounds: {narrator.bounds()}"]
    for heading, findings in _groups(answer):
        if findings and heading:
            lines += ["", heading]
        for one in findings:
            fault = f"{_kind(one)}: {narrator.fault(one)} ({len(one.steps)} steps)"
            lines += [f"  {fault}"] if heading else ["", fault]
            if not heading:
                lines += [f"  {number}. {text}" for number, text in enumerate(narrator.trace(one), 1)]
    lines += ["", "gates:"]
    lines += [
        f"  after deploy {gate.done}: release {' and '.join(gate.releases)}: {SIGNS[gate.color]}"
        for gate in answer.gates
    ]
    lines += ["", "what occurred:", *(f"  {text}" for text in narrator.occurred(answer.outcome))]
    if answer.hold_ups:
        lines += ["", f"holds up others ({TRIED_ON}; not explored):"]
        for held in answer.hold_ups:
            rule = held.rule
            reads, rewrites = "reads the table" if rule.reads else "", "rewrites it" if rule.rewrites else ""
            how = ", ".join(filter(None, [str(BLOCKS.get(rule.lock, "")), reads, rewrites]))
            lines.append(f"  deploy {held.deploy}: {held.text}: {how or 'reads and writes go on'}")
            lines += [f"    {rule.instead}"] if rule.instead else []
    return "\n".join([*lines, *_repair(repair, searched)])


def _repair(repair: Repair | None, searched: bool) -> list[str]:
    if not searched:
        return []
    if repair is None:
        return ["", "No change of the order was found that is safe; it may need one more release."]
    return ["", f"Safe, explored: {repair.what}."]


def as_markdown(answer: Answer, repair: Repair | None = None, *, searched: bool = False) -> str:
    """The answer as a comment on a pull request."""
    narrator = Narrator(answer.model)
    lines = [f"**{title_of(answer)}**", "", f"Bounds: {narrator.bounds()}", ""]
    for one in answer.counted:
        lines += [f"### {_kind(one)}", "", f"{narrator.fault(one)}", ""]
        lines += [*(f"{number}. `{text}`" for number, text in enumerate(narrator.trace(one), 1)), ""]
    lines += ["| after deploy | releases | |", "|---|---|---|"]
    lines += [f"| {gate.done} | {' and '.join(gate.releases)} | {SIGNS[gate.color]} |" for gate in answer.gates]
    lines += _repair(repair, searched)
    return "\n".join(lines)
