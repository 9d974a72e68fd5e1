"""Writes `docs/reference/safe-sequences.md`: the explorer's answers about the built-in variants."""

from collections.abc import Iterable, Iterator, Sequence

from lab.explorer.model import Model
from lab.explorer.rules_left_out import Broken
from lab.explorer.spaces.config import step_id
from lab.explorer.variant import Variant
from lab.explorer.verdict import Answer, Verdict

HEAD = """\
# Safe sequences, and what breaks the others

Written by `manage.py explore --table`, by running every built-in variant: do not edit it. *Proved* means that every
state within the bounds was seen and satisfied all clauses under every version in force, that no acknowledged write was
lost, and that what the proof is about did happen somewhere. *Violated* comes with the shortest way into a broken
state. `manage.py explore --variant NAME` shows any of them.

By default: 2 nodes, 2 rows, 2 values, any number of operations, a fill of 2 ranges with one worker believed dead.
A foreign key is between two tables that nodes lease one by one: its states are the child's + the parent's, and 2 rows
refer to 2 parents or to none.
"""

SECTIONS = {
    "4": ("Sequences", "Protocol section 4, with cancel at any moment and changes of key."),
    "4, storages": (
        "More storages and fewer",
        "A table's rows are spread over another number of storages: the old placement's + the new one's. Rows 1 and 2 "
        "lie side by side on two storages, apart on three. A storage that is left over is removed when the change has "
        "ended.",
    ),
    "4, hashes": (
        "Without leases, and with both",
        "`coordination` hash: no leases, and once a version is published the storages accept it alone, while "
        "transactions that have begun finish; both: the same, under leases. No schedule is possible that leases would "
        "not allow while lock and fence are there; what holds without leases depends on those two alone. Sequences, "
        "and rules left out.",
    ),
    "4, pairs": (
        "Two states side by side",
        "Both versions are in use over a table that is empty at first. Neighbours must tolerate each other.",
    ),
    "4, plans": (
        "Plans of several elements",
        "What is due at a stage is one version, here the states of its elements with + between them. With cancel at "
        "any moment before the earliest point of no return, and changes of key.",
    ),
    "4, rules": (
        "Rules for plans left out",
        "Protocol section 4: each rule for plans of several elements, and what happens without it. *Refused writes*: a "
        "constraint refuses every insert, or every change of a row, for a value that the version cannot name.",
    ),
    "9": ("Rules left out", "Protocol section 9: each rule, and what happens without it."),
}


def write_table(answers: Iterable[tuple[Variant, Answer]]) -> str:
    listed = list(answers)
    parts = [HEAD]
    for section, (title, about) in SECTIONS.items():
        mine = [(variant, answer) for variant, answer in listed if variant.section == section]
        cells = ("variant", "element", "versions", "otherwise than usual", "verdict", "states", "breaks")
        parts.append(
            "\n".join(
                [
                    f"## {title}",
                    "",
                    about,
                    "",
                    f"| {' | '.join(cells)} |",
                    "|" + "---|" * len(cells),
                    *(row(v, a) for v, a in mine),
                    "",
                ]
            )
        )
    parts.append("## The ways into broken states\n")
    parts += [story(variant, answer) for variant, answer in listed if answer.verdict is Verdict.VIOLATED]
    return "\n".join(parts)


def row(variant: Variant, answer: Answer) -> str:
    model = variant.model
    breaks = f"{', '.join(answer.clauses)} after {len(answer.steps)} steps" if answer.steps else variant.note
    states = f"{answer.states:,}"
    cells = (variant.name, model.kind_name, model.stage_names, _left_out(model), answer.verdict.value, states, breaks)
    return f"| {' | '.join(cells)} |"


def story(variant: Variant, answer: Answer) -> str:
    return "\n".join(_story_lines(variant, answer, answer.sentences))


def _story_lines(variant: Variant, answer: Answer, sentences: Sequence[str]) -> Iterator[str]:
    yield f"### {variant.name}"
    yield ""
    for number, (step, sentence) in enumerate(zip(answer.steps, sentences, strict=True), 1):
        yield f"{number}. `{step_id(step)}` {sentence}"
    yield ""
    yield "; ".join(f"**{fault.clause}** under v{fault.version}: {fault.why}" for fault in answer.faults) + "."
    yield ""


def _left_out(model: Model) -> str:
    same = ("kind", "stages", "also", "pair", "foreign_key", "refers_to_itself", "widths")
    usual = Model(**{name: getattr(model, name) for name in same})
    words = [b.words for b in Broken if b in model.broken]
    words += [
        f"{'parents' if model.foreign_key and name == 'values' else name} {getattr(model, name)}"
        for name in ("nodes", "rows", "values")
        if getattr(model, name) != getattr(usual, name)
    ]
    if model.operations != usual.operations:
        words.append(f"{model.operations} {'operation' if model.operations == 1 else 'operations'}")
    words += [f"{model.versions} live versions"] if model.versions != usual.versions else []
    words += ["a CHECK"] if model.check else []
    words += ["partial: WHERE a = 11"] if model.partial else []
    words += ["enters late"] if model.late_enter else []
    words += ["over the primary key"] if model.apart else []
    words += [] if model.by_value else ["the new placement spreads by key"]
    words += [] if model.fence else ["no fence: leases alone"]
    words += [] if model.by_leases_alone else [f"coordination {model.coordination}"]
    words += [f"storages {model.storages}"] if model.storages else []
    return "; ".join(words)
