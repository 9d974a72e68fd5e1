"""The words of Django are its own operations; those of Alembic are calls that Python can read."""

import ast
import json

import pytest
from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations, models
from django.db.migrations.operations.base import Operation

from rollouts.checks import check
from rollouts.templates import PGROLL, text_of
from tests.rollouts.answers import FORMS

ALEMBIC = {"add_column", "alter_column", "create_index", "drop_column", "drop_constraint", "execute", "get_context"}
ALEMBIC |= {"rename_table"}


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_each_deploy_of_a_template_has_words_in_both_tools(name: str, form: str) -> None:
    report = check(text_of(name, form))
    assert report.words or form == "naive"
    for one in report.words:
        assert one.django
        ast.parse("\n".join(one.alembic))
        calls = {
            node.attr
            for node in ast.walk(ast.parse("\n".join(one.alembic)))
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "op"
        }
        assert calls <= ALEMBIC
        for line in one.django if not one.django[0].startswith("for ") else ():
            names = {"migrations": migrations, "models": models, "ValidateConstraint": ValidateConstraint}
            assert isinstance(eval(line, names), Operation)  # noqa: S307  (our own words)


def test_pgroll_has_a_recipe_for_some() -> None:
    assert PGROLL
    assert all("operations" in json.loads(recipe) for recipe in PGROLL.values())
