"""Changes for operators, who pause, resume or cancel but do not edit them, and the destinations of notifications."""

import re
import secrets
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator, validate_email
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from catalog.admin import ActingAdmin, ReadOnlyAdmin, filtered_in_words
from catalog.templatetags.look import outcome_word
from changes import selectors, services
from changes.models import Change, Delivery, Destination, SchemaChangeLease, Step
from changes.notifications.email import ADDRESSES_MAX, addresses

DIRECTIONS = {"forward": pgettext_lazy("direction", "forward"), "back": pgettext_lazy("direction", "back")}
KINDS = {
    "publish": pgettext_lazy("step", "publish"),
    "drain": pgettext_lazy("step", "drain"),
    "fill": pgettext_lazy("step", "fill"),
    "verify": pgettext_lazy("step", "verify"),
    "close": pgettext_lazy("step", "close"),
    "delete": pgettext_lazy("step", "delete"),
    "purge": pgettext_lazy("step", "purge"),
}
HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,250}[A-Za-z0-9])?")


def direction_word(direction: str) -> str:
    return str(DIRECTIONS[direction])


def kind_word(kind: str) -> str:
    return str(KINDS[kind])


@admin.register(Change)
class ChangeAdmin(ActingAdmin):
    refusal = services.ChangeError
    list_display = ("id", "table_name", "statement", "shown_status", "shown_direction", "who", "created_at", "ended_at")
    list_filter = (("status", filtered_in_words(outcome_word)), "table_name", "who")
    search_fields = ("statement", "table_name")
    ordering = ("-id",)
    actions = ("pause", "resume", "cancel")

    @admin.display(description=gettext_lazy("status"), ordering="status")
    def shown_status(self, change: Change) -> str:
        return str(outcome_word(change.status))

    @admin.display(description=gettext_lazy("direction"), ordering="direction")
    def shown_direction(self, change: Change) -> str:
        return direction_word(change.direction)

    def has_steer_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("changes.change_change")

    @admin.action(description=gettext_lazy("Pause"), permissions=["steer"])
    def pause(self, request: HttpRequest, chosen: QuerySet[Change]) -> HttpResponse | None:
        return self._for_each(request, chosen, services.pause, _("Pause asked for"))

    @admin.action(description=gettext_lazy("Resume"), permissions=["steer"])
    def resume(self, request: HttpRequest, chosen: QuerySet[Change]) -> HttpResponse | None:
        return self._for_each(request, chosen, services.resume, _("Resume asked for"))

    @admin.action(description=gettext_lazy("Cancel: roll back to the table as it was"), permissions=["steer"])
    def cancel(self, request: HttpRequest, chosen: QuerySet[Change]) -> HttpResponse | None:
        return self._for_each(request, chosen, services.cancel, _("Cancel asked for"))

    def _for_each(
        self, request: HttpRequest, chosen: QuerySet[Change], act: Callable[..., None], log: str
    ) -> HttpResponse | None:
        rights = {"who": request.user.get_username(), "may_steer_all": selectors.may_steer_all(request.user)}
        return self.for_each(request, chosen, lambda change: act(change.pk, **rights), log)


class DestinationForm(forms.ModelForm):
    occasions = forms.MultipleChoiceField(
        choices=Destination.Occasion.choices, widget=forms.CheckboxSelectMultiple, label=gettext_lazy("Occasions")
    )

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        mistake = mistake_in(found.get("kind", ""), found.get("address", ""))
        if mistake:
            self.add_error("address", mistake)
        return found


def mistake_in(kind: str, address: str) -> str | None:
    if kind == Destination.Kind.EMAIL:
        found = addresses(address)
        try:
            for one in found:
                validate_email(one)
        except ValidationError:
            return _("Email addresses, with commas between them.")
        is_right = 0 < len(found) <= ADDRESSES_MAX
        return None if is_right else _("%(n)s addresses at most, and at least one.") % {"n": ADDRESSES_MAX}
    try:
        parts = urlsplit(address)
        has_host = parts.port != 0 and HOST.fullmatch(parts.hostname or "") is not None
    except ValueError:  # of a port or a host that is none
        has_host = False
    try:
        URLValidator(schemes=["http", "https"])(address)
    except ValidationError:
        # a name without a dot is right within a network of one's own
        if not has_host or parts.scheme not in ("http", "https"):
            return _("An address that begins with http:// or https://.")
    if "@" in parts.netloc:
        return _("An address without a name and a password: requests are signed instead.")
    return None


@admin.register(Destination)
class DestinationAdmin(admin.ModelAdmin):
    """The secret is generated here and shown once."""

    form = DestinationForm
    list_display = ("name", "kind", "address", "is_on", "created_at")
    list_filter = ("kind", "is_on")
    fields = ("name", "kind", "address", "occasions", "wait_s", "is_on")
    actions = ("new_secret",)

    def save_model(self, request: HttpRequest, obj: Destination, form: Any, change: bool) -> None:
        if not change:
            self._give_secret(request, obj)
        super().save_model(request, obj, form, change)

    @admin.action(description=gettext_lazy("Make a new secret"), permissions=["change"])
    def new_secret(self, request: HttpRequest, chosen: QuerySet[Destination]) -> None:
        for one in chosen[:10]:
            self._give_secret(request, one)
            one.save(update_fields=["secret"])
            self.log_change(request, one, _("Secret changed"))

    def _give_secret(self, request: HttpRequest, one: Destination) -> None:
        one.secret = secrets.token_urlsafe(32)
        if one.kind == Destination.Kind.WEBHOOK:
            words = _("The secret of %(name)s is %(secret)s. It is not shown again.")
            self.message_user(request, words % {"name": one.name, "secret": one.secret}, messages.WARNING)


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "destination", "about", "state", "tries", "answer")
    list_filter = ("state", "destination")
    list_select_related = ("destination",)


@admin.register(Step)
class StepAdmin(ReadOnlyAdmin):
    list_display = (
        "change",
        "shown_direction",
        "number",
        "shown_kind",
        "version",
        "started_at",
        "ended_at",
        "waited_s",
    )
    list_filter = (("kind", filtered_in_words(kind_word)), ("road", filtered_in_words(direction_word)))
    list_select_related = ("change",)
    ordering = ("-change_id", "-road", "number")

    @admin.display(description=gettext_lazy("kind"), ordering="kind")
    def shown_kind(self, step: Step) -> str:
        return kind_word(step.kind)

    @admin.display(description=gettext_lazy("direction"), ordering="road")
    def shown_direction(self, step: Step) -> str:
        return direction_word(step.road)


@admin.register(SchemaChangeLease)
class SchemaChangeLeaseAdmin(ReadOnlyAdmin):
    list_display = ("table_id", "holder", "token", "expires_at")
