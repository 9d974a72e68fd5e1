"""The answer about each template, and about each rollout that others have described, as text: read before it is
committed. `python -m tests.rollouts.answers` writes them anew."""

from pathlib import Path

from rollouts.checks import check
from rollouts.report import as_text
from rollouts.templates import NAIVE, SAFE, TEMPLATES, text_of

FOLDER = Path(__file__).parent
PUBLIC = FOLDER / "public"
DESCRIBED = FOLDER.parents[2] / "docs" / "rollouts"
FORMS = [(one.name, form) for one in TEMPLATES for form in (NAIVE, SAFE)]


def answer_about(name: str, form: str) -> str:
    return as_text(check(text_of(name, form), rows=2)) + "\n"


def file_of(name: str, form: str) -> Path:
    return FOLDER / f"{name}-{form}.txt"


def public_answer(name: str) -> str:
    return as_text(check((DESCRIBED / f"{name}.toml").read_text(encoding="utf-8"))) + "\n"


def public_file(name: str) -> Path:
    return PUBLIC / f"{name}.txt"
