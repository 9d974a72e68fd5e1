"""A chapter for tests: one screen with one task, written as its author would write it."""

from pathlib import Path

from lab.exercises.chapter import Screen
from lab.exercises.reading import read_chapter

ROOT = Path(__file__).parents[3]
FOLDER = "99-a-test"
HEAD = 'act = 1\nminutes = 1\nsetup = "one-jump"\n[[screens]]\nid = "only"\n'
AHEAD = 'steps = ["publish.2", "n2.acquire"]\n'


def toml(screen: str) -> str:
    """A chapter whose only screen, `only`, has these lines."""
    return HEAD + screen


def screen_of(lines: str) -> Screen:
    return read_chapter(FOLDER, toml(lines)).screens[0]


PREDICT = f"""{AHEAD}[screens.task]
kind = "predict"
form = "choice"
asks = "pairs"
then = ["n2.insert.1.1"]
choices = {{ row = ["row 1 (a=1)"], both = ["row 1 (a=1)", "entry 1→r1"] }}
answer = "both"
"""
REACH = f"""{AHEAD}[screens.task]
kind = "reach"
until = ["C4@v2"]
solution = ["n1.insert.1.1"]
"""
EXPLAIN = """steps = ["publish.2", "n2.acquire", "n2.insert.1.1", "n1.delete.1"]
[screens.task]
kind = "explain"
clauses = ["C3", "C5"]
clause = "C5"
step = 4
rules = ["delete-only", "lock"]
missing = "delete-only"
mended = { steps = ["publish.2", "n1.acquire", "n2.acquire", "n2.insert.1.1", "n1.delete.1"] }
"""
DESIGN = """stage = false
[screens.task]
kind = "design"
grammar = "plan"
given = ["CREATE TABLE t (id bigint PRIMARY KEY, a bigint)"]
statement = "ALTER TABLE t DROP COLUMN a"
solution = ["publish delete-only", "drain", "delete", "publish absent", "drain"]
wrong = ["publish absent", "drain"]
"""
HANDBOOKS = """setup = "handbooks"
[screens.task]
kind = "design"
grammar = "handbooks"
lines = 2
one_channel = true
solution = ["both/mail", "both/messenger"]
wrong = ["messenger/mail", "mail/messenger"]
"""
TASKS = {"predict": PREDICT, "reach": REACH, "explain": EXPLAIN, "design": DESIGN, "handbooks": HANDBOOKS}
