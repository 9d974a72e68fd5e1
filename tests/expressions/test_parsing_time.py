"""The time to parse a text, or to refuse it, grows with its length and not with its square."""

import gc
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import postgast
import pytest

from expressions import grammar
from expressions.dates.zones import time_style
from expressions.errors import SqlError
from expressions.literals import Reading, rewritten

SHORTER = 12_000
TIMES_MAX = 6
"""How much longer four times the text may take: 4, and what caches and noise add. A square takes 16."""
NOISE_S = 0.001
ATTEMPTS = 40

SHAPES = {
    # name: (begin, repeated, end, repeated as often after the middle)
    "comments left open in each other": ("SELECT 1 ", "/*", ""),
    "comments in each other": ("SELECT 1 ", "/*", "", "*/"),
    "comments in each other with words": ("SELECT 1 ", "/* a ", "", " */"),
    "a comment left open": ("SELECT 1 /*", "a", ""),
    "a comment of stars": ("SELECT 1 /*", "*", "*/"),
    "a comment of slashes": ("SELECT 1 /*", "/", "*/"),
    "a comment of openings": ("SELECT 1 /* ", "/* ", ""),
    "comments side by side": ("SELECT 1 ", "/**/", ""),
    "comments with blanks": ("SELECT 1 ", "/* a */ ", ""),
    "operators before comments": ("SELECT 1 ", "+/*", ""),
    "operators between comments": ("SELECT 1 ", "+/**/", "1"),
    "divided stars": ("SELECT 1 ", "/ *", "1"),
    "signs": ("SELECT 1 ", "+", " 1"),
    "minus signs in a comment": ("SELECT 1 ", "-", ""),
    "tildes": ("SELECT 1 ", "~", " 1"),
    "tildes and signs": ("SELECT 1 ~", "-+", " 1"),
    "comparisons": ("SELECT 1 ", "<>", " 1"),
    "stars and minus signs": ("SELECT 1 ", "*-", "1"),
    "signs with blanks": ("SELECT 1 ", "+ ", "1"),
    "line comments": ("SELECT 1 ", "--\n", ""),
    "line comments after signs": ("SELECT 1 ", "+--\n", "1"),
    "an open text": ("SELECT '", "a", ""),
    "a continued text": ("SELECT 'a'", "\n'a'", ""),
    "a text before empty lines": ("SELECT 'a'", "\n", ""),
    "texts on lines": ("SELECT ", "'a' \n", ""),
    "a text before line comments": ("SELECT 'a'", "--\n", ""),
    "texts before line comments": ("SELECT ", "'a'--\n", "1"),
    "doubled quotes": ("SELECT '", "''", "'"),
    "blanks": ("SELECT ", " ", "1"),
    "no-break spaces": ("SELECT", "\u00a0", ""),
    "byte order marks": ("", "\ufeff", ""),
    "an open dollar quote": ("SELECT $a$", "$a", ""),
    "dollar tags": ("SELECT ", "$a", ""),
    "dollars": ("SELECT ", "$", ""),
    "dollars in a quote": ("SELECT $x$", "$", ""),
    "a long name": ("SELECT ", "a", ""),
    "a long name in quotes": ('SELECT "', "a", '"'),
    "an open name": ('SELECT "', '""', ""),
    "escaped characters": ("SELECT U&'", "\\0041", "'"),
    "many escaped texts": ("SELECT ", "U&'a',", "1"),
    "escapes of one's own": ("SELECT ", "U&'a' UESCAPE '!',", "1"),
    "backslashes": ("SELECT E'", "\\n", "'"),
    "an open text of backslashes": ("SELECT E'", "\\'", ""),
    "a long number": ("SELECT ", "1", ""),
    "points of numbers": ("SELECT ", "1.", ""),
    "exponents": ("SELECT ", "1e", ""),
    "underscores": ("SELECT 1", "_1", ""),
    "a long bit string": ("SELECT x'", "a", "'"),
    "parameters": ("SELECT ", "$1,", "1"),
    "a long parameter": ("SELECT $", "1", ""),
    "items": ("SELECT ", "1,", "1"),
    "semicolons": ("", ";", ""),
    "statements": ("", "SELECT 1;", ""),
    "statements before an error": ("", "SELECT 1;", " FROM"),
    "statements beyond ASCII": ("", "SELECT 'é';", ""),
    "an error behind letters": ("SELECT '", "é", "' FROM FROM"),
    "columns": ("SELECT ", "a,", "a FROM t"),
    "rows": ("INSERT INTO t VALUES ", "(1),", "(1)"),
    "parts of a name": ("SELECT ", "a.", "a"),
    "subscripts": ("SELECT a", "[1]", ""),
    "casts": ("SELECT 1", "::int", ""),
    "collations": ("SELECT a", " COLLATE b", ""),
    "conjunctions": ("SELECT 1", " AND a", ""),
    "alternatives": ("SELECT 1", " OR a", ""),
    "brackets": ("SELECT ", "(", "1", ")"),
    "open brackets": ("SELECT ", "(", ""),
    "negations": ("SELECT ", "NOT ", "a"),
    "a list": ("SELECT a IN (", "1,", "1)"),
    "cases": ("SELECT CASE ", "WHEN a THEN b ", "END"),
    "open cases": ("SELECT ", "CASE WHEN ", ""),
    "tables": ("SELECT 1 FROM a", ", a", ""),
    "joins": ("SELECT 1 FROM a", " JOIN a ON b", ""),
    "unions": ("SELECT 1", " UNION SELECT 1", ""),
    "queries in WITH": ("WITH a AS (SELECT 1)", ", a AS (SELECT 1)", " SELECT 1"),
    "columns of a new table": ("CREATE TABLE t (", "a int, ", "b int)"),
    "NOT NULL, again and again": ("CREATE TABLE t (a int", " NOT NULL", ")"),
    "checks": ("CREATE TABLE t (a int", " CHECK (a > 1)", ")"),
    "options": ("CREATE TABLE t (a int) WITH (a=1", ",a=1", ")"),
    "actions of ALTER": ("ALTER TABLE t ADD a int", ", ADD a int", ""),
    "order": ("SELECT 1 ORDER BY a", ",a", ""),
    "groups": ("SELECT 1 GROUP BY a", ",a", ""),
    "arguments": ("SELECT f(", "a,", "a)"),
    "grants": ("GRANT SELECT ON a", ",a", " TO b"),
    "drops": ("DROP TABLE a", ",a", ""),
    "settings": ("SET a TO b", ",b", ""),
    "locks": ("SELECT 1 FROM a", " FOR UPDATE", ""),
    "assignments": ("UPDATE t SET a=1", ",a=1", ""),
    "an array": ("SELECT ARRAY[", "1,", "1]"),
    "a row": ("SELECT ROW(", "1,", "1)"),
    "null tests": ("SELECT a", " IS NULL", ""),
    "joined texts": ("SELECT ''", "||''", ""),
    "modifiers of a type": ("SELECT CAST(a AS t(", "1,", "1))"),
    "dimensions": ("SELECT CAST(a AS t", "[]", ")"),
    "windows": ("SELECT 1 FROM t WINDOW w AS ()", ", w AS ()", ""),
}  # fmt: skip


def text_of(shape: tuple[str, ...], size: int) -> str:
    begin, repeated, end, *closing = shape
    last = "".join(closing)
    times = size // len(repeated + last)
    return begin + repeated * times + end + last * times


def seconds(text: str) -> float:
    """Processor time of this thread, without collections: others on the machine, and earlier tests, do not count."""
    gc.disable()
    began = time.thread_time()
    try:
        grammar.parse(text)
        grammar.tokens(text)
    except (SqlError, postgast.PgQueryError):
        pass  # a refusal takes its time, too
    finally:
        taken = time.thread_time() - began
        gc.enable()
    return taken


def grows_with_its_length(seconds_of: Callable[[int], float], size: int, attempts: int = ATTEMPTS) -> None:
    """Measure both sizes again and again: what others on the machine add is not in the least of each."""
    shorts: list[float] = []
    longs: list[float] = []
    for _ in range(attempts):
        shorts.append(seconds_of(size))
        longs.append(seconds_of(4 * size))
        if min(longs) <= TIMES_MAX * max(min(shorts), NOISE_S):
            return
    pytest.fail(f"{min(shorts):.4f} s, and {min(longs):.4f} s for four times the text")


@pytest.mark.parametrize("name", SHAPES)
def test_four_times_the_text_takes_about_four_times_as_long(name: str) -> None:
    grows_with_its_length(lambda size: seconds(text_of(SHAPES[name], size)), SHORTER)


def seconds_of_words(size: int) -> float:
    """Processor time for the words of a text, which are kept, in a new process."""
    program = (
        "import gc, time\n"
        "from expressions import grammar\n"
        f"gc.disable(); text = 'VALUES (1)' + ',(1)' * {size // 4}; began = time.thread_time()\n"
        "grammar.tokens(text); print(time.thread_time() - began)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True)
    return float(ended.stdout)


def test_four_times_as_many_words_take_about_four_times_as_long_in_a_new_process() -> None:
    """Views of the parser's message were kept: the first half a million of them held up all threads for 2 s."""
    grows_with_its_length(seconds_of_words, 2**17, attempts=3)


def seconds_of_literals(count: int) -> float:
    """Processor time to write so many literals of a definition anew."""
    begin, literal = "SELECT ''", ",'2020-01-01 00:00'"
    sql = begin + literal * count
    read = Reading(time_style("Europe/Berlin", "MDY"))
    for number in range(count):
        read.found[len(begin) + 1 + number * len(literal)] = ("2020-01-01 00:00", "2019-12-31 23:00:00+00")
    began = time.thread_time()
    assert rewritten(sql, read) == begin + ",'2019-12-31 23:00:00+00'" * count
    return time.thread_time() - began


def test_four_times_as_many_literals_of_a_definition_take_about_four_times_as_long() -> None:
    grows_with_its_length(seconds_of_literals, 8_000)


@pytest.mark.parametrize(("text", "sqlstate", "message"), [
    pytest.param("SELECT 1 " + "/*" * 40, "54000", "more than 64 operator characters in a row", id="openings"),
    pytest.param("SELECT 1 " + "+" * 65 + "1", "54000", "more than 64 operator characters in a row", id="signs"),
    pytest.param("SELECT 1 " + "/* a " * 1000, "54001", "the statement is nested too deeply", id="nested comments"),
    pytest.param("SELECT 1 /*" + "a" * 5000, "42601", "unterminated /* comment", id="a comment left open"),
    pytest.param("SELECT 1" + ";" * 200_001, "54000", "lists more than 200000 items", id="semicolons"),
    pytest.param("SELECT a" + "[1]" * 200_001, "54000", "lists more than 200000 items", id="subscripts"),
])  # fmt: skip
def test_a_text_that_would_take_long_is_refused_with_its_reason(text: str, sqlstate: str, message: str) -> None:
    with pytest.raises(SqlError, match=re.escape(message)) as caught:
        grammar.parse(text)
    assert caught.value.sqlstate == sqlstate


@pytest.mark.parametrize("text", [
    pytest.param("/" + "*" * 200 + " a frame " + "*" * 200 + "/ SELECT 1", id="a frame of stars"),
    pytest.param("-" * 200 + "\nSELECT 1", id="a line"),
    pytest.param("SELECT 1 /*" + "=" * 5000 + "*/", id="a line in a comment"),
    pytest.param("SELECT '" + "/*" * 100 + "'", id="in a text"),
    pytest.param("SELECT 1 " + "/* a " * 50 + "*/" * 50, id="comments in comments"),
    pytest.param("SELECT a " + "~" * 60 + " b", id="a long operator"),
])  # fmt: skip
def test_what_people_write_is_read(text: str) -> None:
    assert len(grammar.parse(text).stmts) == 1


def test_a_text_that_takes_too_long_all_the_same_ends_the_process() -> None:
    program = (
        "from expressions import grammar\n"
        "grammar.refuse_greedy, grammar.PARSE_S_MAX = lambda sql: None, 0.2\n"
        "grammar.parse('SELECT 1' + ', 1' * 10_000)\n"
        "print('a healthy text', flush=True)\n"
        "sum(range(20_000_000))\n"
        "print('and time that is not spent in the parser', flush=True)\n"
        "grammar.parse('SELECT 1 ' + '/*' * 50_000)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert ended.stdout.splitlines() == ["a healthy text", "and time that is not spent in the parser"]
    assert ended.returncode == -signal.SIGVTALRM


def test_no_other_module_calls_the_parser_or_its_lexer() -> None:
    root = Path(__file__).parents[2]
    calls = re.compile(r"postgast\.(parse|scan|split|normalize|fingerprint|format|classify)")
    tracked = subprocess.run(["git", "ls-files", "*.py"], cwd=root, capture_output=True, text=True, check=True).stdout
    modules = [name for name in tracked.split() if not name.startswith("tests/")]
    assert [name for name in modules if calls.search((root / name).read_text())] == ["expressions/grammar.py"]
