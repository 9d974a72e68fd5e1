"""Writes the answers about all templates and all described rollouts anew."""

from tests.rollouts.answers import DESCRIBED, FORMS, PUBLIC, answer_about, file_of, public_answer, public_file

for name, form in FORMS:
    file_of(name, form).write_text(answer_about(name, form), encoding="utf-8")
PUBLIC.mkdir(exist_ok=True)
for path in DESCRIBED.glob("*.toml"):
    public_file(path.stem).write_text(public_answer(path.stem), encoding="utf-8")
