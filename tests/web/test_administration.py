"""The administration in Chinese: models and their fields have names there, which migrations know nothing of."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.utils import translation
from django.utils.html import escape
from django.utils.timezone import now

from catalog.models import Table
from catalog.services import append_event
from changes.models import Change, Step
from leases.admin import holder_words
from leases.holders import Holder
from leases.models import Lease

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


def submitted(table: Table, **otherwise: Any) -> Change:
    """A change of the table."""
    told: dict[str, Any] = {"statement": "x", "plan": {}, "who": "o"}
    of = {"table_id": table.pk, "table_ids": [table.pk], "table_name": table.name}
    return Change.objects.create(**of, **told | otherwise)


def test_the_lists_speak_it_too(client_of: Callable[[str], Client], flights: Table) -> None:
    with transaction.atomic():
        append_event("node joined", "n1", {"node": "n1", "incarnation": 1}, ["cluster"])
    submitted(flights, status="failed")
    User.objects.filter(username="olga").update(is_superuser=True)
    olga = client_of("olga")
    olga.cookies["django_language"] = "zh-hans"
    index = olga.get("/admin/").content.decode()
    assert "变更" in index
    assert "视图" not in index, "the link to look at something is no noun"
    assert "节点加入" in olga.get("/admin/catalog/storyevent/").content.decode()
    changes = olga.get("/admin/changes/change/").content.decode()
    assert '<td class="field-shown_status">失败</td>' in changes
    assert '<td class="field-shown_direction">向前</td>' in changes
    assert re.search(r'<a href="\?status=failed">\s*失败', changes), "the filter says it as the list does"
    change = Change.objects.get()
    Step.objects.create(change=change, road="forward", number=0, kind="drain", version=3, started_at=now())
    steps = olga.get("/admin/changes/step/").content.decode()
    assert '<td class="field-shown_kind">排空</td>' in steps
    assert f"变更 {change.pk}：x" in steps, "a change is named in Chinese, too"
    assert re.search(r'<a href="\?kind=drain">\s*排空', steps)
    step = Step.objects.get()
    page = olga.get(f"/admin/changes/step/{step.pk}/change/").content.decode()
    assert f"变更 {change.pk} 的第 0 步：排空" in page
    assert [re.sub(r"\s+", "", words) for words in re.findall(r'<div class="readonly">([^<]*)</div>', page)][:3] == [
        "向前",
        "0",
        "排空",
    ]
    page = olga.get(f"/admin/changes/change/{change.pk}/change/").content.decode()
    assert '<div class="readonly">失败</div>' in page
    assert "创建用户之后" in olga.get("/admin/auth/user/add/").content.decode(), (
        "also where Django itself has no Chinese"
    )
    stories = olga.get("/admin/catalog/storyevent/").content.decode()
    assert re.search(r'<a href="\?kind=node%20joined">\s*节点加入|<a href="\?kind=node\+joined">\s*节点加入', stories)
    assert not re.search(r'class="changelink"[^>]*>变更', index), "the link to edit something is no noun"


def test_a_list_says_what_happened_first_and_shows_the_steps_of_a_change_together(
    client_of: Callable[[str], Client], flights: Table
) -> None:
    with transaction.atomic():
        append_event("node joined", "n1", {"node": "n1", "incarnation": 1}, ["cluster"])
    for name in ("first", "second"):
        change = submitted(flights, statement=name)
        for number, road in ((0, "back"), (0, "forward"), (1, "forward")):
            Step.objects.create(change=change, road=road, number=number, kind="publish", started_at=now())
    User.objects.filter(username="olga").update(is_superuser=True)
    olga = client_of("olga")
    stories = olga.get("/admin/catalog/storyevent/").content.decode()
    assert stories.index("Node n1 joined (incarnation 1).") < stories.index('<td class="field-shown_kind">node joined')
    steps = re.findall(
        r"change \d+: (\w+).*?field-shown_direction\">(\w+)</td><td class=\"field-number\">(\d)",
        olga.get("/admin/changes/step/").content.decode(),
    )
    of_one = [("forward", "0"), ("forward", "1"), ("back", "0")]
    assert steps == [(name, *step) for name in ("second", "first") for step in of_one]
    versions = olga.get("/admin/catalog/descriptor/").content.decode()
    assert re.search(r'field-table_name"><a[^>]*>flights</a>', versions), "not with the newest version's number"
    assert 'href="?table__name=flights"' in versions


def test_a_long_plan_is_folded_and_a_short_value_stands_as_it_is(
    client_of: Callable[[str], Client], flights: Table
) -> None:
    plan = {"steps": [{"kind": "publish", "<b>": "步骤"}] * 20}
    change = submitted(flights, plan=plan, wishes=["a"])
    User.objects.filter(username="olga").update(is_superuser=True)
    page = client_of("olga").get(f"/admin/changes/change/{change.pk}/change/").content.decode()
    change.refresh_from_db()  # its keys come in an order of PostgreSQL
    lines = json.dumps(change.plan, indent=2, ensure_ascii=False).splitlines()
    folded = f"<details><summary>{len(lines)} lines</summary><pre>{escape(chr(10).join(lines))}</pre></details>"
    assert re.search(r"<label>Plan:</label>\s*<div class=\"readonly\">" + re.escape(folded), page)
    assert re.search(r"Pending requests:</label>\s*<div class=\"readonly\">\[&quot;a&quot;\]", page)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_times_have_their_seconds(client_of: Callable[[str], Client], flights: Table, language: str) -> None:
    change = submitted(flights, started_at=now())
    User.objects.filter(username="olga").update(is_superuser=True)
    olga = client_of("olga")
    olga.cookies["django_language"] = language
    for page in ("", f"{change.pk}/change/"):
        assert f"{change.created_at:%Y-%m-%d %H:%M:%S}" in olga.get(f"/admin/changes/change/{page}").content.decode(), (
            page
        )


@pytest.mark.django_db
def test_the_names_are_no_migration() -> None:
    call_command("makemigrations", check=True, dry_run=True)


def test_who_holds_a_lease_is_named_in_chinese() -> None:
    holder = Holder(1, 2, 17, "ann", "report", "UPDATE flights", is_running=False, for_s=47.0)
    with translation.override("zh-hans"):
        assert holder_words(holder) == "ann 的会话 17 (report): 空闲，此前执行 UPDATE flights"
        assert str(Lease(node="n1", version=2, table_id=7)) == "n1 租用表 7 的版本 2"
    assert holder_words(holder) == "session 17 of ann (report): idle after UPDATE flights"
