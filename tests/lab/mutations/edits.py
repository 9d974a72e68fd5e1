"""Production code with one text in it replaced: a rule switched off for the length of a test.

    spark_tasks.reorganise.backfill:put_where_free     a function, compiled anew: its callers keep the one they have
    spark_tasks.chunks.chunk:BEGIN                     a text
    storage.statements:SQL[TOMBSTONE]                  a text in a dictionary, by an enum's name
    sql:storage_*.enter                                functions of the test database, put back afterwards

The text must be there exactly as often as it is replaced: once, in each function. A mutation that no longer fits the
code is an error, never a rule that no test missed.
"""

import inspect
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from operator import attrgetter
from textwrap import dedent
from typing import Any

import pytest
from psycopg import errors

from tests.lab.mutations.rules_left_out import SWITCHES, Switch


def switches_of(*modules: str) -> list[Any]:
    """The switches that tests of these modules notice, as parameters."""
    return [pytest.param(one, id=f"{one.rules}: {one.what}") for one in SWITCHES if one.module in modules]


class DoesNotFit(AssertionError):
    """The text that a mutation replaces is not in the code: the mutation is to be written anew."""


class Hangs(AssertionError):
    """Without the rule the test never ends: that is no way to notice it, another test is to be named."""


SECONDS_MAX = 15


@contextmanager
def _in_time() -> Iterator[None]:
    def give_up(*_: object) -> None:
        raise Hangs(f"not noticed within {SECONDS_MAX} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS_MAX)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def switched_off(switch: Switch) -> Iterator[None]:
    """The rule is off inside."""
    where, _, name = switch.place.partition(":")
    if where == "sql":
        with _on_the_server(switch, name):
            yield
        return
    with pytest.MonkeyPatch.context() as patch:
        _in_python(patch, switch, import_module(where), name)
        yield


def _replaced(switch: Switch, text: str) -> str:
    if text.count(switch.old) != 1:
        raise DoesNotFit(f"{switch.place} has {switch.old!r} {text.count(switch.old)} times, not once")
    return text.replace(switch.old, switch.new)


def _in_python(patch: pytest.MonkeyPatch, switch: Switch, module: Any, name: str) -> None:
    entry = re.fullmatch(r"(\w+)\[(\w+)\]", name)
    if entry is not None:
        texts = getattr(module, entry[1])
        key = next(key for key in texts if key.name == entry[2])
        patch.setitem(texts, key, _replaced(switch, texts[key]))
    elif isinstance(attrgetter(name)(module), str):
        patch.setattr(module, name, _replaced(switch, getattr(module, name)))
    else:
        function = inspect.unwrap(attrgetter(name)(module))
        patch.setattr(function, "__code__", _compiled(_replaced(switch, inspect.getsource(function)), function))


def _compiled(source: str, function: Callable[..., object]) -> Any:
    """The code of the function as its changed source has it; decorators stay what they were."""
    undecorated = dedent(source)[dedent(source).index("def ") :]
    made: dict[str, Any] = {}
    exec(compile(undecorated, "<mutation>", "exec"), dict(function.__globals__), made)  # noqa: S102 - our own code
    return made[function.__name__].__code__


@contextmanager
def _on_the_server(switch: Switch, name: str) -> Iterator[None]:
    from django.db import connection

    pattern = name.replace(".", r"\.").replace("*", r"\d+")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_get_functiondef(p.oid) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace"
            " WHERE n.nspname || '.' || p.proname ~ %s OR p.proname ~ %s",
            [f"^{pattern}$", f"^{pattern}$"],
        )
        written = [source for (source,) in cursor.fetchall()]
    if not written:
        raise DoesNotFit(f"the database has no function {name}")
    changed = [_replaced(switch, source) for source in written]
    try:
        _create(changed)
        yield
    finally:
        _create(written)


def _create(sources: list[str]) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        for source in sources:
            cursor.execute(source.replace("%", "%%"), [])


def is_noticed(switch: Switch, request: pytest.FixtureRequest) -> bool:
    """Whether the test that a switch names fails while the rule is off."""
    path, _, name = switch.test.partition("::")
    module = import_module("tests." + path.removesuffix(".py").replace("/", "."))
    test = inspect.unwrap(getattr(module, name))
    given = {word: _value(module, value) for word, value in switch.given}
    wanted = [word for word in inspect.signature(test).parameters if word not in given]
    fixtures = {word: request.getfixturevalue(word) for word in wanted}
    with switched_off(switch):
        try:
            with _in_time():
                test(**fixtures, **given)
        except (Hangs, DoesNotFit, NameError, errors.SyntaxErrorOrAccessRuleViolation):
            raise  # the mutation is wrong, not the product
        except (Exception, pytest.fail.Exception):  # noqa: BLE001 - a test fails as it likes
            return True
    return False


def _value(module: Any, said: str) -> Any:
    """What a test is given: something of its module, one of a list of parameters by its id, a number, or the word."""
    if said.isdecimal():
        return int(said)
    entry = re.fullmatch(r"(\w+)\[(\w+)\]", said)
    if entry is not None:
        return next(param.values[0] for param in getattr(module, entry[1]) if param.id == entry[2])
    return getattr(module, said, said)
