"""The catalog for operators: tables, versions, the story. Read-only, since schemas move by changes only."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import display_for_field
from django.db.models import JSONField, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from catalog.models import Descriptor, StoryEvent, Table
from catalog.story import sentence
from catalog.templatetags.look import story_kind

JSON_CHARS_MAX = 300
CHOSEN_MAX = 200
"""The page that asks says of each what follows, and sends each back as a field: Django takes at most 1,000."""


FACET = re.compile(r" \(\d+\)$")
"""How many there are, behind a filter's value where counts are shown."""


def filtered_in_words(word: Callable[[str], Any]) -> type[admin.AllValuesFieldListFilter]:
    """A filter by a field's existing values, each shown as `word`."""

    class InWords(admin.AllValuesFieldListFilter):
        def choices(self, changelist: Any) -> Iterator[Any]:
            everything, *values = super().choices(changelist)
            yield everything
            for one in values:
                shown = str(one["display"])
                value = FACET.sub("", shown)
                yield one | {"display": f"{word(value)}{shown.removeprefix(value)}"}

    return InWords


def _folded(field: JSONField) -> Callable[[Any], str]:
    def shown(thing: Any) -> str:
        value = getattr(thing, field.name)
        if len(json.dumps(value)) <= JSON_CHARS_MAX:
            return display_for_field(value, field, "-")
        lines = json.dumps(value, indent=2, ensure_ascii=False).splitlines()
        words = ngettext("%(n)s line", "%(n)s lines", len(lines)) % {"n": f"{len(lines):,}"}
        return format_html("<details><summary>{}</summary><pre>{}</pre></details>", words, "\n".join(lines))

    shown.__name__ = field.name
    return admin.display(description=field.verbose_name)(shown)


class ReadOnlyAdmin(admin.ModelAdmin):
    def get_fields(self, request: HttpRequest, obj: Any = None) -> Sequence[Any]:
        """A field that the list shows in words is shown so here, too."""
        columns = [name for name in self.list_display if str(name).startswith("shown_")]
        in_words: dict[str, Any] = {getattr(self, name).admin_order_field: name for name in columns}
        folded = {field.name: _folded(field) for field in self.opts.get_fields() if isinstance(field, JSONField)}
        return [(in_words | folded).get(name, name) for name in super().get_fields(request, obj)]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ActingAdmin(ReadOnlyAdmin):
    """Asks, runs a service for each chosen object, logs it, and shows refusals. `follows` describes the effects."""

    refusal: type[Exception] | tuple[type[Exception], ...]
    follows_template: str | None = None
    """Of a chosen object: gets what `follows` returns, and the name of the action as `act`."""

    def follows(self, thing: Any) -> dict[str, Any]:
        return {}

    def for_each(
        self, request: HttpRequest, chosen: QuerySet[Any], act: Callable[[Any], Any], log: str
    ) -> HttpResponse | None:
        """The page that asks; then the acts, for at most `CHOSEN_MAX` objects."""
        if chosen[CHOSEN_MAX:].exists():
            words = _("Nothing was done: choose at most %(n)s at a time.") % {"n": CHOSEN_MAX}
            self.message_user(request, words, messages.WARNING)
            return None
        if "confirmed" not in request.POST:
            return self._ask(request, chosen)
        done = 0
        for thing in chosen:
            try:
                act(thing)
            except self.refusal as error:
                self.message_user(request, str(error), messages.ERROR)
            else:
                self.log_change(request, thing, log)
                done += 1
        if done:
            self.message_user(request, f"{log}: {done}", messages.SUCCESS)
        return None

    def _ask(self, request: HttpRequest, chosen: QuerySet[Any]) -> HttpResponse:
        name = request.POST["action"]
        _act, _its_name, description = self.get_actions(request)[name]
        context = self.admin_site.each_context(request) | {
            "title": description,
            "opts": self.opts,
            "act": name,
            "checkbox": ACTION_CHECKBOX_NAME,
            "chosen": [(thing, self.follows(thing)) for thing in chosen],
            "follows_template": self.follows_template,
            "media": self.media,
        }
        return TemplateResponse(request, "admin/act_confirmation.html", context)


@admin.register(Table)
class TableAdmin(ReadOnlyAdmin):
    list_display = ("id", "name", "version", "state", "created_at")
    list_filter = ("state",)
    search_fields = ("name",)
    ordering = ("name",)


@admin.register(Descriptor)
class DescriptorAdmin(ReadOnlyAdmin):
    list_display = ("table_name", "version", "schema_hash", "sharding_hash", "modified_at")
    list_filter = ("table__name",)
    list_select_related = ("table",)
    ordering = ("table__name", "-version")

    @admin.display(description=gettext_lazy("table"), ordering="table__name")
    def table_name(self, descriptor: Descriptor) -> str:
        return descriptor.table.name


@admin.register(StoryEvent)
class StoryEventAdmin(ReadOnlyAdmin):
    list_display = ("at", "text", "stream", "shown_kind", "seq")
    list_filter = (("kind", filtered_in_words(story_kind)), "stream")
    search_fields = ("subject",)
    ordering = ("-at", "stream")

    @admin.display(description=gettext_lazy("kind"), ordering="kind")
    def shown_kind(self, event: StoryEvent) -> str:
        return story_kind(event.kind)

    @admin.display(description=gettext_lazy("story"))
    def text(self, event: StoryEvent) -> str:
        return sentence(event.kind, event.payload, _)
