"""Writes the answers about all templates anew."""

from tests.rollouts.answers import FORMS, answer_about, file_of

for name, form in FORMS:
    file_of(name, form).write_text(answer_about(name, form), encoding="utf-8")
