"""A design as a ladder: the tiles that its builder offers (lines of a plan, states of versions, tiles of an element, or
handbooks), and the run that answers it."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from django.utils.translation import gettext as _

from catalog.elements import State
from catalog.text.message import STATES
from changes.plan.model import MoveKind
from changes.review.neighbour_states import danger
from lab.exercises.chapter import Design, Predict, Task
from lab.exercises.clock_runs import clock_run
from lab.exercises.designs import planned
from lab.exercises.grammars import Tile as AddedTile
from lab.exercises.grammars import grammar
from lab.exercises.item_run import ItemRun, RunTile
from lab.explorer.model import WORK, Model, kinds_described
from lab.explorer.verdict import Verdict
from lab.ladders.elements import OF_KIND, anomaly_text, pairs_of, states_among, tiles_of
from lab.ladders.played import PUBLISH, Played
from lab.pages.ladder_words import ladder_words, titles_of
from lab.pages.ladders import frames_worded
from lab.pages.words import say
from lab.sessions.handbooks import BY_NAME, MAIL_ONLY, MESSENGER_ONLY, handbook, judge

Tile = dict[str, Any]
STATE_NAMES = tuple(sorted((state.value for state in State), key=len, reverse=True))
PLAN_WORK = (*WORK, "drain", "close", "purge")
SPARE = Counter({"drain": 1})
"""Tiles that a plan may need once more than its solution."""


def builder_of(task: Design, order: Sequence[str], played: Played | None, *, is_passed: bool) -> Mapping[str, Any]:
    """The data of the component. Raises `lab.exercises.designs.Malformed` for a task that has no plan."""
    words = ladder_words(task.grammar)
    ground, goal, tiles, pairs = _parts(task, words)
    own = [line for line in order if line.strip()]
    if task.grammar == "states" and own[:1] == [ground["value"]]:
        own = own[1:]
    return {
        "ground": ground,
        "goal": goal,
        "tiles": tiles,
        "pairs": pairs,
        "words": words,
        "order": own,
        "sends": [ground["value"]] if task.grammar == "states" else [],
        "answer": None if played is None else answer_of(played),
        "isPassed": is_passed,
        "most": task.lines or None,
        "isSilent": grammar(task.grammar) is not None,
    }


def runs_worded(
    runs: Iterable[ItemRun], named: Callable[[str], str], predicted: Callable[[str], str]
) -> Mapping[str, Any] | None:
    every = tuple(runs)
    words = ladder_words(every[0].played.stores if every else "")
    found = [
        answer_of(run.played)
        | {
            "title": named(run.item),
            "tried_words": _tried(run.played),
            "predicted": predicted(run.item),
            "ground": _of_run(run.versions[0], words),
            "tiles": [_of_run(version, words) for version in run.versions[1:]],
        }
        for run in every
    ]
    return {"runs": found, "words": words} if found else None


def clock_worded(task: Task | None, answered: Mapping[str, Any]) -> Mapping[str, Any] | None:
    moments = clock_run(task) if isinstance(task, Predict) else ()
    if not moments:
        return None
    words, given = ladder_words(), str(answered.get("time", ""))
    hours, _colon, minutes = given.partition(":")
    is_time = hours.isdigit() and minutes.isdigit()
    guess = {"at": int(hours) * 60 + int(minutes), "text": words["predicted"].format(what=given)} if is_time else None
    return {
        "moments": [
            {"at": one.at_min, "clock": f"{one.at_min // 60 % 24}:{one.at_min % 60:02d}", "text": say(one.text)}
            for one in moments
        ],
        "guess": guess,
        "words": {"again": words["again"]},
    }


def _of_run(version: str | RunTile, words: Mapping[str, str]) -> Tile:
    if isinstance(version, RunTile):
        return _plain("", say(version.text)) | {"isWork": version.is_work}
    return _tile(version, words)


def _tried(played: Played) -> str:
    if played.verdict not in (Verdict.PROVED.value, Verdict.VIOLATED.value):
        return ""
    count = f"{played.states:,}"
    none = _("{n} states were tried, and none was broken.").format(n=count)
    return (
        none
        if played.verdict == Verdict.PROVED.value
        else _("{n} states were tried until one was broken.").format(n=count)
    )


def order_builder(options: Sequence[str], named: Callable[[str], str], order: Sequence[str]) -> Mapping[str, Any]:
    """The data for things that are brought into an order, of which no two are judged before the answer is stored."""
    tiles = [_plain(one, named(one)) for one in options]
    start = _plain("", _("start"))
    words = ladder_words() | {"say silent": _("Build your order, then answer.")}
    return {"ground": start, "tiles": tiles, "pairs": {}, "words": words, "order": list(order), "isSilent": True}


def free_builder(element: str, ground: str, nodes: int) -> Mapping[str, Any]:
    """The data of free play: an order of an element's tiles, run with a prediction. Raises `BadModel`."""
    words = ladder_words()
    base, _goal, tiles, pairs = _of_states(element, ground, tiles_of(element, ground), words)
    described = kinds_described(element)
    kind = described["kind"]
    anomalies = OF_KIND.get(kind, ())
    return {
        "element": element,
        "ground": base,
        "tiles": tiles,
        "pairs": pairs,
        "words": words,
        "nodes": nodes,
        "predictions": [("none", _("nothing breaks")), *((one, say(anomaly_text(one, kind))) for one in anomalies)],
    }


def answer_of(played: Played) -> Mapping[str, Any]:
    return {
        "verdict": played.verdict,
        "states": played.states,
        "tried": played.tried,
        "played": {"frames": frames_worded(played.frames), "stores": titles_of(played.stores)},
    }


def _parts(task: Design, words: Mapping[str, str]) -> tuple[Tile, Tile | None, list[Tile], Mapping[str, bool]]:
    if added := grammar(task.grammar):
        base, offered = added.tiles(task)
        return _added(base), None, list(map(_added, offered)), {}
    match task.grammar:
        case "plan":
            return _of_plan(task, words)
        case "states":
            ground = task.solution[0]
            offered = sorted({*task.solution, *task.wrong, *task.tiles} - {ground})
            return _of_states(task.elements, ground, offered, words)
        case "ladder":
            return _of_states(task.elements, task.ground, tiles_of(task.elements, task.ground), words)
    return _of_handbooks(task)


def _added(tile: AddedTile) -> Tile:
    return _plain(tile.value, tile.text) | {"isWork": tile.is_work, "about": tile.about}


def _of_states(
    elements: str, ground: str, offered: Iterable[str], words: Mapping[str, str]
) -> tuple[Tile, None, list[Tile], Mapping[str, bool]]:
    tiles = list(offered)
    stages = states_among([ground, *tiles])
    model = Model(stages=tuple(stages[:2]), **kinds_described(elements))
    return _tile(ground, words), None, [_tile(one, words) for one in tiles], pairs_of(model, stages)


def _tile(value: str, words: Mapping[str, str], *, shown: str = "") -> Tile:
    name = shown or value
    is_work = name in PLAN_WORK
    states = [] if is_work else re.findall("|".join(STATE_NAMES), name)
    return {
        "value": value,
        "text": words[name] if name in words else _in_words(name),
        "about": words.get(f"about {name}", ""),
        "states": states,
        "isWork": is_work,
        "version": name,
    }


def _in_words(text: str) -> str:
    texts = {state.value: say(words) for state, words in STATES.items()}
    return re.sub("|".join(STATE_NAMES), lambda found: texts[found[0]], text).replace("+", " + ")


def _of_plan(task: Design, words: Mapping[str, str]) -> tuple[Tile, None, list[Tile], Mapping[str, bool]]:
    plan = planned(task.given, task.statement)
    is_added = all(move.kind is MoveKind.ADD for move in plan.moves)
    ground = _tile(State.ABSENT.value if is_added else State.PUBLIC.value, words)
    lines = sorted(((Counter(task.solution) | Counter(task.wrong) | Counter(task.tiles)) + SPARE).elements())
    tiles = [_line(line, words) for line in lines]
    pairs = {}
    if len(plan.moves) == 1 and plan.moves[0].element.partner is None:
        kind = plan.moves[0].element.kind
        for one, other in combinations(sorted(state.value for state in State), 2):
            pairs[f"{one}|{other}"] = danger(kind, State(one), State(other)) is None
    return ground, None, tiles, pairs


def _line(line: str, words: Mapping[str, str]) -> Tile:
    first, _space, rest = line.partition(" ")
    if first == PUBLISH:
        state, _in, table = rest.partition(" in ")
        tile = _tile(line, words, shown=rest)
        return tile | {"text": _("{state} in {table}").format(state=_in_words(state), table=table)} if table else tile
    return _tile(line, words, shown=first) | {"text": " ".join(filter(None, (words.get(first, first), rest)))}


def _of_handbooks(task: Design) -> tuple[Tile, Tile, list[Tile], Mapping[str, bool]]:
    """Handbooks: what may stand between the first and the last; two are compatible when no message can be lost."""
    channels = [name for name, found in BY_NAME.items() if found]
    sends = [name for name in channels if not (task.one_channel and len(BY_NAME[name]) > 1)]
    values = [f"{reads}/{sent}" for reads in channels for sent in reversed(sends)]  # the right ones stand last
    everything = sorted({*values, str(MAIL_ONLY), str(MESSENGER_ONLY)})
    pairs = {
        f"{one}|{other}": judge((handbook(one), handbook(other))).is_safe for one, other in combinations(everything, 2)
    }
    between = [_edition(value) for value in values if value not in (str(MAIL_ONLY), str(MESSENGER_ONLY))]
    return _edition(str(MAIL_ONLY)), _edition(str(MESSENGER_ONLY)), between, pairs


def _edition(value: str) -> Tile:
    return _plain(value, say(handbook(value).text))


def _plain(value: str, text: str) -> Tile:
    return {"value": value, "text": text, "about": "", "states": [], "isWork": False, "version": value}
