"""Calls with regular expressions that are constants: translated once, left to the query engine where it means the same.

The engine takes RE2's first match, PostgreSQL the longest. Whether there is one is the same question, so operators and
regexp_like go there. Of single characters one after the other, of which one may be repeated, the first match is the
longest: these are replaced there, too, by what is no longer than a match, so that no text grows.

    name ~ '^a'                              regexp_matches(name, '(?s)^a')
    regexp_replace(name, '\\s+', ' ', 'g')    regexp_replace(name, '(?s)[..]+', ' ', 'g')
"""

from typing import Any

from expressions.errors import SqlError
from expressions.regexes.flags import flags_of
from expressions.regexes.functions import RE2_TEXT, TESTS, like_expression
from expressions.regexes.matching import regex_of
from expressions.regexes.translation import Translated
from expressions.sqltypes import BOOL, TEXT
from expressions.typed import Call, Context, Expr, Literal, evaluate, walk


def translated(text: Expr) -> Expr:
    """A regular expression as the query engine takes it. Raises 2201B and 0A000 for a constant that is none."""
    call = Call("re2", RE2_TEXT.template, (text,), TEXT, RE2_TEXT.compute, offset=text.offset)
    if not all(isinstance(e, Literal) or (isinstance(e, Call) and e.strict and e.compute) for e in walk(text)):
        return call
    try:
        return Literal(evaluate(call, {}, Context()), TEXT, text.offset)
    except SqlError as error:
        error.offset = error.offset if error.offset >= 0 else text.offset
        raise


def for_the_engine(call: Call) -> Call:
    """The call of a function in words of the engine's; itself where they would mean something else.

    An expression that is none is an error where there is a row to be looked at.
    """
    if call.name not in _LEFT_TO_IT or not all(isinstance(arg, Literal) for arg in call.args[1:]):
        return call
    values = [arg.value for arg in call.args[1:] if isinstance(arg, Literal)]
    if not all(isinstance(value, str) for value in values):
        return call
    try:
        return _LEFT_TO_IT[call.name](call, *values) or call
    except SqlError:
        return call


def _as_test(call: Call, pattern: str, letters: str = "") -> Call:
    test = TESTS["~"]
    expression = Literal(like_expression(pattern, letters), TEXT, call.args[1].offset)
    return Call(call.name, test.template, (call.args[0], expression), BOOL, test.compute, offset=call.offset)


def _as_replacement(call: Call, pattern: str, new: str, letters: str = "") -> Call | None:
    flags = flags_of(letters)
    known = regex_of(pattern, flags_of(letters.replace("g", ""))).known
    if not _is_shrinking(known, new) or letters[:1].isdigit():
        return None
    option = ", 'g'" if flags.is_global else ""
    expression = Literal(known.text, TEXT, call.args[1].offset)
    args = (call.args[0], expression, call.args[2])
    return Call(call.name, f"regexp_replace({{0}}, {{1}}, {{2}}{option})", args, TEXT, offset=call.offset)


def _is_shrinking(known: Translated, new: str) -> bool:
    return known.least is not None and known.least > 0 and "\\" not in new and len(new.encode()) <= known.least


_LEFT_TO_IT: dict[str, Any] = {"regexp_like": _as_test, "regexp_replace": _as_replacement}
