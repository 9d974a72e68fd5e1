"""Leases and nodes as operators see them: nothing is added or edited, leases are released or revoked, nodes drained.

Each action asks for its own permission and leaves a row in Django's log of admin actions.
"""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from catalog.admin import ActingAdmin
from leases import services
from leases.models import Lease, Node


@admin.register(Lease)
class LeaseAdmin(ActingAdmin):
    refusal = services.CannotBeDone
    list_display = ("table_id", "version", "node", "incarnation", "expires_at")
    list_filter = ("node", "table_id", "version")
    search_fields = ("node",)
    actions = ("release", "revoke")

    @admin.action(description=gettext_lazy("Release: give back leases that nobody uses"), permissions=["release"])
    def release(self, request: HttpRequest, chosen: QuerySet[Lease]) -> None:
        who = request.user.get_username()
        self.for_each(request, chosen, lambda lease: services.release_lease(lease.pk, who=who), _("Released"))

    @admin.action(description=gettext_lazy("Revoke: end the sessions that use them"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, chosen: QuerySet[Lease]) -> None:
        who = request.user.get_username()

        def act(lease: Lease) -> None:
            services.revoke_lease(lease.table_id, lease.node, version=lease.version, who=who)

        self.for_each(request, chosen, act, _("Revoked"))

    def has_release_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("leases.release_lease")

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("leases.revoke_lease")


@admin.register(Node)
class NodeAdmin(ActingAdmin):
    refusal = services.CannotBeDone
    list_display = ("name", "incarnation", "state", "host", "port", "pid", "heartbeat_at")
    list_filter = ("state",)
    search_fields = ("name",)
    actions = ("drain", "undrain")

    @admin.action(description=gettext_lazy("Drain: take no new leases"), permissions=["drain"])
    def drain(self, request: HttpRequest, chosen: QuerySet[Node]) -> None:
        who = request.user.get_username()
        self.for_each(request, chosen, lambda node: services.drain_node(node.name, who=who), _("Drained"))

    @admin.action(description=gettext_lazy("Undrain: take leases again"), permissions=["drain"])
    def undrain(self, request: HttpRequest, chosen: QuerySet[Node]) -> None:
        who = request.user.get_username()
        self.for_each(request, chosen, lambda node: services.undrain_node(node.name, who=who), _("Undrained"))

    def has_drain_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("leases.drain_node")
