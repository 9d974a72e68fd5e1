"""The administration in Chinese: models and their fields have names there, which migrations know nothing of."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.contrib import admin
from django.core.management import call_command
from django.test import Client
from django.utils import translation

admin.autodiscover()
OURS = ("catalog", "changes", "leases")
MODELS = [model for model in admin.site._registry if model._meta.app_label in OURS]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_name_is_translated(model: type) -> None:
    meta = model._meta  # type: ignore[attr-defined]
    with translation.override("zh-hans"):
        fields = {field.name: str(field.verbose_name) for field in meta.fields}
        names = [meta.verbose_name, meta.verbose_name_plural, meta.app_config.verbose_name]
        english = [str(name) for name in names if re.search("[a-z]", str(name))]
    assert english == []
    assert {name: words for name, words in fields.items() if re.search("[a-z]", words)} == {}


def test_the_lists_show_these_names(client_of: Callable[[str], Client]) -> None:
    olga = client_of("olga")
    olga.cookies["django_language"] = "zh-hans"
    assert "变更" in olga.get("/admin/").content.decode()


@pytest.mark.django_db
def test_the_names_are_no_migration() -> None:
    call_command("makemigrations", check=True, dry_run=True)
