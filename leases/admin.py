"""Leases and nodes for operators: they release, revoke and drain, each action asked first and logged."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Case, F, OuterRef, QuerySet, Subquery, When
from django.http import HttpRequest, HttpResponse
from django.utils.formats import number_format
from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from catalog.admin import ActingAdmin
from catalog.models import Descriptor, Table
from leases import selectors, services
from leases.holders import Holder
from leases.holders import to_json as holder_json
from leases.models import MAY_CONTROL_NODES, Lease, Node
from leases.redis.samples import read_holders

ORDER = (F("in_the_way_until").desc(nulls_last=True), "table_name", "version", "node", "incarnation")


def deciding_first(leases: QuerySet[Lease]) -> QuerySet[Lease]:
    """Leases with table name and newest version, in the order of `leases.ranking`."""
    newest = Descriptor.objects.filter(table_id=OuterRef("table_id")).order_by("-version").values("version")[:1]
    name = Table.objects.filter(pk=OuterRef("table_id")).values("name")
    known = leases.annotate(table_name=Subquery(name), newest=Subquery(newest))
    old = When(version__lt=F("newest"), then=F("expires_at"))
    return known.annotate(in_the_way_until=Case(old, default=None)).order_by(*ORDER)


def seconds_from_now(moment: datetime | None) -> str:
    if moment is None:
        return "–"
    return number_format(abs((moment - datetime.now(UTC)).total_seconds()), decimal_pos=1)


def holder_words(holder: Holder) -> str:
    words = _("session %(session)s of %(user)s") % {"session": holder.session, "user": holder.user}
    if holder.application:
        words += f" ({holder.application})"
    if not holder.statement:
        return words
    return f"{words}: {holder.statement if holder.is_running else _('idle after') + ' ' + holder.statement}"


class OfTable(admin.SimpleListFilter):
    title = gettext_lazy("table")
    parameter_name = "table"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        leased = Lease.objects.values("table_id")
        return list(Table.objects.filter(pk__in=leased).order_by("name").values_list("pk", "name"))

    def queryset(self, request: HttpRequest, queryset: QuerySet[Lease]) -> QuerySet[Lease] | None:
        chosen = self.value()
        return queryset.filter(table_id=chosen) if chosen and chosen.isdigit() and len(chosen) < 10 else None


class Leases(ChangeList):
    def _get_default_ordering(self) -> Any:
        return ORDER

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list: Any = list(self.result_list)
        reported = read_holders({lease.node for lease in self.result_list})
        for lease in self.result_list:
            lease.holders = selectors.holders_of(lease, reported)


@admin.register(Lease)
class LeaseAdmin(ActingAdmin):
    refusal = services.REFUSALS
    follows_template = "admin/lease_follows.html"
    list_display = ("table", "shown_version", "node", "left", "held_by", "until", "incarnation")
    list_filter = (OfTable, "node", "version")
    search_fields = ("node", "table_name")
    actions = ("release", "revoke")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Lease]:
        return deciding_first(super().get_queryset(request))

    def get_changelist(self, request: HttpRequest, **more: Any) -> type[ChangeList]:
        return Leases

    @admin.display(description=gettext_lazy("table"), ordering="table_name")
    def table(self, lease: Any) -> str:
        return lease.table_name or str(lease.table_id)

    @admin.display(description=gettext_lazy("version"), ordering="version")
    def shown_version(self, lease: Any) -> str:
        if lease.in_the_way_until is None:
            return f"v{lease.version}"
        return _("v%(version)s, newest: v%(newest)s") % {"version": lease.version, "newest": lease.newest}

    @admin.display(description=gettext_lazy("ends at the latest"), ordering="expires_at")
    def until(self, lease: Any) -> str:
        return f"{lease.expires_at.astimezone(UTC):%H:%M:%S}"

    @admin.display(description=gettext_lazy("seconds left"), ordering="expires_at")
    def left(self, lease: Any) -> str:
        return seconds_from_now(lease.expires_at) if lease.expires_at > datetime.now(UTC) else _("over")

    @admin.display(description=gettext_lazy("held by"))
    def held_by(self, lease: Any) -> SafeString | str:
        return format_html_join(mark_safe("<br>"), "{}", ((holder_words(one),) for one in lease.holders)) or "–"

    def follows(self, thing: Any) -> dict[str, Any]:
        holders = selectors.holders_of(thing, read_holders([thing.node]))
        sessions = len(selectors.sessions_using(thing.table_id, thing.version, node=thing.node))
        shown = {"node": thing.node, "table": self.table(thing), "version": thing.version}
        return {
            "shown": shown | {"holders": [holder_json(holder) for holder in holders]},
            "sessions": sessions,
            "unreported": max(0, sessions - len(holders)),
        }

    @admin.action(description=gettext_lazy("Release: give back leases that nobody uses"), permissions=["release"])
    def release(self, request: HttpRequest, chosen: QuerySet[Lease]) -> HttpResponse | None:
        who = request.user.get_username()
        return self.for_each(request, chosen, lambda lease: services.release_lease(lease.pk, who=who), _("Released"))

    @admin.action(description=gettext_lazy("Revoke: end the sessions that use them"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, chosen: QuerySet[Lease]) -> HttpResponse | None:
        who = request.user.get_username()

        def act(lease: Lease) -> None:
            services.revoke_lease(lease.table_id, lease.node, version=lease.version, who=who)

        return self.for_each(request, chosen, act, _("Revoked"))

    def has_release_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("leases.release_lease")

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("leases.revoke_lease")


@admin.register(Node)
class NodeAdmin(ActingAdmin):
    refusal = services.REFUSALS
    follows_template = "admin/node_follows.html"
    list_display = ("name", "incarnation", "state", "host", "port", "pid", "silent_for")
    list_filter = ("state",)
    search_fields = ("name",)
    ordering = ("name",)
    actions = ("drain", "undrain")

    @admin.display(description=gettext_lazy("seconds since its heartbeat"), ordering="heartbeat_at")
    def silent_for(self, node: Node) -> str:
        return seconds_from_now(node.heartbeat_at)

    @admin.action(description=gettext_lazy("Drain: take no new leases"), permissions=["drain"])
    def drain(self, request: HttpRequest, chosen: QuerySet[Node]) -> HttpResponse | None:
        who = request.user.get_username()
        return self.for_each(request, chosen, lambda node: services.drain_node(node.name, who=who), _("Drained"))

    @admin.action(description=gettext_lazy("Undrain: take leases again"), permissions=["drain"])
    def undrain(self, request: HttpRequest, chosen: QuerySet[Node]) -> HttpResponse | None:
        who = request.user.get_username()
        return self.for_each(request, chosen, lambda node: services.undrain_node(node.name, who=who), _("Undrained"))

    def has_drain_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(MAY_CONTROL_NODES)
