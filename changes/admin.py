"""Changes as operators see them: nothing is edited, changes are paused, resumed or cancelled."""

from collections.abc import Callable

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from catalog.admin import ActingAdmin, ReadOnlyAdmin
from changes import selectors, services
from changes.models import Change, SchemaChangeLease, Step


@admin.register(Change)
class ChangeAdmin(ActingAdmin):
    refusal = services.ChangeError
    list_display = ("id", "table_name", "statement", "status", "direction", "who", "created_at", "ended_at")
    list_filter = ("status", "table_name", "who")
    search_fields = ("statement", "table_name")
    ordering = ("-id",)
    actions = ("pause", "resume", "cancel")

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


@admin.register(Step)
class StepAdmin(ReadOnlyAdmin):
    list_display = ("change", "road", "number", "kind", "version", "started_at", "ended_at", "waited_s")
    list_filter = ("kind", "road")
    list_select_related = ("change",)


@admin.register(SchemaChangeLease)
class SchemaChangeLeaseAdmin(ReadOnlyAdmin):
    list_display = ("table_id", "holder", "token", "expires_at")
