"""The answer about each template, as text: read before it is committed.

`python -m tests.rollouts.answers` writes them anew.
"""

from pathlib import Path

from rollouts.checks import check
from rollouts.report import as_text
from rollouts.templates import NAIVE, SAFE, TEMPLATES, text_of

FOLDER = Path(__file__).parent
FORMS = [(one.name, form) for one in TEMPLATES for form in (NAIVE, SAFE)]


def answer_about(name: str, form: str) -> str:
    return as_text(check(text_of(name, form), rows=2)) + "\n"


def file_of(name: str, form: str) -> Path:
    return FOLDER / f"{name}-{form}.txt"
