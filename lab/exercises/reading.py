"""exercise.toml, read into a chapter. A mistake is refused with its place and with what would be right
(screens[2].task: unknown key 'answr'; it may have answer, asks, ..)."""

import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields
from typing import Any, NoReturn, TypeVar, get_type_hints

from lab.exercises import grammars
from lab.exercises.chapter import (
    KINDS,
    Answer,
    Chapter,
    Design,
    Explain,
    Form,
    Item,
    Live,
    Observed,
    Parameter,
    Predict,
    Reach,
    Screen,
    Sources,
    Start,
    Survive,
    Task,
)
from lab.replays.feats import FEATS
from lab.sessions.session import BadSession, check_steps
from lab.sessions.short_steps import in_full

T = TypeVar("T")

FOLDER = re.compile(r"(\d\d)-([a-z0-9]+(?:-[a-z0-9]+)*)")
ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
CHARACTERS_MAX = 100_000
HANDOUT = "handout"
SCREENS_MAX = 40


class BadExercise(ValueError):
    """A file is no exercise: says where, and what would be right."""


class Table:
    """A table of TOML that is read key by key; `done` refuses the other keys."""

    def __init__(self, place: str, body: object) -> None:
        if not isinstance(body, dict):
            raise BadExercise(f"{place} must be a table")
        self.place, self.body = place, body
        self.asked: set[str] = set()

    def text(self, key: str, default: str | None = None) -> str:
        """Without a default the key is required. So are the others."""
        value = self._value(key, default, "a text")
        return value if isinstance(value, str) else self._refuse(key, value, "a text")

    def number(self, key: str, default: int | None = None) -> int:
        value = self._value(key, default, "a whole number")
        if not isinstance(value, int) or isinstance(value, bool):
            self._refuse(key, value, "a whole number")
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        value = self._value(key, default, "true or false")
        return value if isinstance(value, bool) else self._refuse(key, value, "true or false")

    def flag_or(self, key: str, default: bool | None) -> bool | None:
        self.asked.add(key)
        return self.flag(key, default=False) if key in self.body else default

    def items(self, key: str) -> list[object]:
        value = self._value(key, [], "a list")
        return value if isinstance(value, list) else self._refuse(key, value, "a list")

    def table(self, key: str) -> "Table":
        value = self._value(key, {}, "a table")
        return Table(f"{self.place}.{key}", value)

    def _value(self, key: str, default: object, kind: str) -> object:
        self.asked.add(key)
        if key not in self.body and default is None:
            raise BadExercise(f"{self.place}: {key!r} is missing: {kind}")
        return self.body.get(key, default)

    def _refuse(self, key: str, value: object, kind: str) -> NoReturn:
        raise BadExercise(f"{self.place}.{key} must be {kind}, not {value!r}")

    def words(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        found = self.items(key) if key in self.body else list(default)
        self.asked.add(key)
        words = tuple(one for one in found if isinstance(one, str))
        return words if len(words) == len(found) else self._refuse(key, found, "a list of texts")

    def steps(self, key: str) -> tuple[str, ...]:
        found = in_full(self.words(key))
        try:
            check_steps(found)
        except BadSession as error:
            raise BadExercise(f"{self.place}.{key}: {error}") from error
        return found

    def one_of(self, key: str, allowed: Collection[str], default: str | None = None) -> str:
        value = self.text(key, default)
        if value not in allowed:
            raise BadExercise(f"{self.place}.{key} is {value!r}; it may be {', '.join(allowed)}")
        return value

    def read(self, kind: type[T], **parts: Any) -> T:
        """A value of a dataclass: its texts, numbers, flags and lists of texts, but for the parts that are given."""
        types = get_type_hints(kind)
        for one in fields(kind):  # type: ignore[arg-type]
            if one.name not in parts:
                default = {} if one.default is MISSING else {"default": one.default}
                parts[one.name] = BY_TYPE[types[one.name]](self, one.name, **default)
        return kind(**parts)

    def done(self) -> None:
        unknown = sorted(set(self.body) - self.asked)
        if unknown:
            may = ", ".join(sorted(self.asked))
            raise BadExercise(f"{self.place}: unknown key {unknown[0]!r}; it may have {may}")


BY_TYPE: Mapping[Any, Callable[..., Any]] = {
    str: Table.text,
    int: Table.number,
    bool: Table.flag,
    tuple[str, ...]: Table.words,
}


def read_chapter(folder: str, text: str) -> Chapter:
    named = FOLDER.fullmatch(folder)
    if named is None:
        raise BadExercise(f"a folder is called NN-words-with-hyphens, such as 01-one-jump, not {folder!r}")
    if len(text) > CHARACTERS_MAX:
        raise BadExercise(f"exercise.toml has {len(text)} characters; {CHARACTERS_MAX} are the limit")
    try:
        top = Table("exercise.toml", tomllib.loads(text))
    except (ValueError, RecursionError) as error:
        raise BadExercise(f"exercise.toml is no TOML: {error}") from error
    first = Start(
        top.text("setup", ""),
        _parameters(top),
        frozenset(top.words("left_out")),
        single_steps=top.flag_or("single_steps", None),
    )
    screens = [_screen(Table(f"screens[{n}]", one), first) for n, one in enumerate(top.items("screens"), 1)]
    chapter = top.read(Chapter, number=int(named[1]), id=folder, screens=tuple(screens), sources=_sources(top))
    top.done()
    _check_screens(chapter)
    return chapter


def _check_screens(chapter: Chapter) -> None:
    ids = [screen.id for screen in chapter.screens]
    if chapter.drawn and chapter.drawn not in ids:
        raise BadExercise(f"drawn is {chapter.drawn!r}, and there is no such screen; there are {', '.join(ids)}")
    if HANDOUT in ids:
        raise BadExercise(f"a screen may not be called {HANDOUT!r}: its page would be the handout's")
    twice = next((one for one in ids if ids.count(one) > 1), None)
    if twice is not None:
        raise BadExercise(f"two screens are called {twice!r}")
    if len(ids) > SCREENS_MAX or not (ids or chapter.waits_for):
        raise BadExercise(f"a chapter has 1 to {SCREENS_MAX} screens, not {len(ids)}")


def _screen(table: Table, first: Start) -> Screen:
    screen_id = table.text("id")
    if not ID.fullmatch(screen_id):
        raise BadExercise(f"{table.place}.id is {screen_id!r}; it is made of small letters, digits and hyphens")
    has_stage = table.flag("stage", default=True)
    start = _start(table, first)
    screen = Screen(
        id=screen_id,
        start=start if has_stage and start.setup else None,
        do=table.steps("do"),
        task=_task(table.table("task"), start) if "task" in table.body else None,
        sources=_sources(table),
    )
    table.done()
    return screen


def _start(table: Table, first: Start) -> Start:
    """The session of a table; defaults are those of `first` but for the steps. Another set-up begins afresh."""
    setup = table.text("setup", first.setup)
    is_same = setup == first.setup
    parameters = _parameters(table)
    return Start(
        setup=setup,
        parameters={**first.parameters, **parameters} if is_same else parameters,
        left_out=frozenset(table.words("left_out", tuple(first.left_out) if is_same else ())),
        steps=table.steps("steps"),
        single_steps=table.flag_or("single_steps", first.single_steps if is_same else None),
    )


def _parameters(table: Table) -> dict[str, Parameter]:
    return _values(table, "parameters")


def _values(table: Table, key: str) -> dict[str, Parameter]:
    found: dict[str, Parameter] = {}
    for name, value in table.table(key).body.items():
        if isinstance(value, list) and all(isinstance(one, str | int) for one in value):
            found[name] = tuple(value)
        elif isinstance(value, str | int | bool):
            found[name] = value
        else:
            raise BadExercise(f"{table.place}.{key}.{name} must be a text, a number, true or false, or a list of them")
    return found


def _sources(table: Table) -> Sources:
    sources = table.table("sources")
    found = sources.read(Sources)
    sources.done()
    return found


def _task(table: Table, start: Start) -> Task:
    kind = table.one_of("kind", KINDS)
    task = READERS[kind](table, start)
    table.done()
    return task


def _predict(table: Table, start: Start) -> Predict:
    form = Form(table.one_of("form", tuple(form.value for form in Form)))
    choices = table.table("choices").body
    values = {name: _observed(f"{table.place}.choices.{name}", value) for name, value in choices.items()}
    items = tuple(
        _item(Table(f"{table.place}.items[{n}]", one), start) for n, one in enumerate(table.items("items"), 1)
    )
    found = table.read(
        Predict,
        form=form,
        answer={item.id: item.answer for item in items} if form is Form.MATCH else _answer(table, form),
        then=table.steps("then"),
        values=values,
        items=items,
        given=_values(table, "given"),
    )
    _check_prediction(table.place, found)
    return found


def _check_prediction(place: str, task: Predict) -> None:
    needed = {
        Form.CHOICE: {"choices"},
        Form.PAIRS: {"options"},
        Form.ORDER: {"options"},
        Form.MATCH: {"choices", "items"},
    }.get(task.form, set())
    there = {
        name for name, part in (("choices", task.values), ("options", task.options), ("items", task.items)) if part
    }
    if there != needed:
        names = " and ".join(sorted(needed)) or "neither choices nor options nor items"
        raise BadExercise(f"{place}: a {task.form.value} has {names}")
    answers = list(task.answer.values()) if isinstance(task.answer, Mapping) else [task.answer]
    if task.values and not set(answers) <= set(task.values):
        raise BadExercise(f"{place}.answer is none of its choices: {', '.join(task.values)}")
    if task.form is Form.PAIRS and isinstance(task.answer, frozenset) and not task.answer <= set(task.options):
        raise BadExercise(f"{place}.answer has a pair that is not among its options")
    if task.form is Form.ORDER and isinstance(task.answer, tuple) and sorted(task.answer) != sorted(task.options):
        raise BadExercise(f"{place}.answer is not an order of its options")


def _answer(table: Table, form: Form) -> Answer:
    if form is Form.NUMBER:
        return table.number("answer")
    if form in (Form.CHOICE, Form.TIME):
        return table.text("answer")
    words = table.words("answer")
    if "answer" not in table.body:
        raise BadExercise(f"{table.place}: 'answer' is missing: a list")
    return frozenset(words) if form is Form.PAIRS else words


def _observed(place: str, value: object) -> Observed:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return frozenset(value)
    if isinstance(value, str | int) and not isinstance(value, bool):
        return value
    raise BadExercise(f"{place} must be a text, a number or a list of texts, not {value!r}")


def _item(table: Table, start: Start) -> Item:
    found = table.read(Item, start=_start(table, start))
    table.done()
    return found


def _reach(table: Table, start: Start) -> Reach:
    statements = _values(table, "statements")
    if not all(type(count) is int for count in statements.values()):
        raise BadExercise(f"{table.place}.statements has a number for each node")
    found = table.read(
        Reach,
        solution=table.steps("solution"),
        by=table.one_of("by", STATEMENTS, "any"),
        statements={name: count for name, count in statements.items() if isinstance(count, int)},
    )
    if not found.until or not found.solution:
        raise BadExercise(f"{table.place}: to be reached is at least one clause (until), and a way there (solution)")
    return found


STATEMENTS = ("any", "insert", "update", "delete", "move")


def _survive(table: Table, start: Start) -> Survive:
    return table.read(Survive)


def _explain(table: Table, start: Start) -> Explain:
    found = table.read(Explain, mended=_start(table.table("mended"), start))
    if found.missing not in found.rules or found.clause not in found.clauses:
        raise BadExercise(f"{table.place}: missing is one of its rules, and clause one of its clauses")
    return found


def _design(table: Table, start: Start) -> Design:
    found = table.read(Design, grammar=table.one_of("grammar", (*GRAMMARS, *grammars.GRAMMARS)))
    if not found.solution or not found.wrong:
        raise BadExercise(f"{table.place}: a design has a solution, and a wrong one that its check must refuse")
    return found


GRAMMARS = ("plan", "states", "ladder", "handbooks")


def _live(table: Table, start: Start) -> Live:
    found = table.read(Live)
    unknown = sorted(set(found.asks) - set(FEATS))
    if unknown:
        raise BadExercise(f"{table.place}.asks: {unknown[0]} is none of {', '.join(FEATS)}")
    return found


READERS: Mapping[str, Callable[[Table, Start], Task]] = {
    "predict": _predict,
    "reach": _reach,
    "survive": _survive,
    "explain": _explain,
    "design": _design,
    "live": _live,
}
