"""The words of the Cluster page's picture, by the keys of `static/picture/`. A key with x explains a part."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from leases.templatetags.over_time import MARKS


def picture_words() -> dict[str, str | dict[str, str]]:
    return {key: str(text) for key, text in (LANES | SCENE).items()} | {
        "changeDone": {status: str(text) for status, text in ENDED.items()}
    }


def lane_words() -> dict[str, str]:
    return {key: str(text) for key, text in LANES.items()}


ENDED: dict[str, str | Promise] = {
    "done": _("Change {n} is done"),
    "failed": _("Change {n} has failed"),
    "cancelled": _("Change {n} was cancelled"),
}
LANES: dict[str, str | Promise] = {
    **MARKS,
    "stateabsent": pgettext_lazy("state", "absent"),
    "statedelete-only": pgettext_lazy("state", "delete-only"),
    "statewrite-only": pgettext_lazy("state", "write-only"),
    "statepublic": pgettext_lazy("state", "public"),
    "ofindex": pgettext_lazy("element", "index"),
    "ofunique": pgettext_lazy("element", "index"),
    "ofcolumn": pgettext_lazy("element", "column"),
    "ofconstraint": pgettext_lazy("element", "constraint"),
    "offoreign": pgettext_lazy("element", "foreign key"),
    "ofplacement": pgettext_lazy("element", "placement"),
    "ofelement": pgettext_lazy("element", "element"),
    "element": _("{kind} {state}"),
    "noElement": _("no {kind}"),
    "lanes": _("Versions that nodes used, in true time"),
    "change": _("Change {n}"),
    "perSShort": _("{n}/s"),
    "nodesAtMost": _("{version}: {n} nodes"),
    "waits": _("waits {s} s for {node}"),
    "waited": _("waited {s} s for {node}"),
    "whyHeld": _(": open transaction of {who}"),
    "whyDown": _(": {kind}, its lease still counts"),
    "waitsWork": _("publisher"),
    "waitsShort": _("waits"),
    "workfill": pgettext_lazy("work", "fill"),
    "workverify": pgettext_lazy("work", "verify"),
    "workdelete": pgettext_lazy("work", "delete"),
    "worktidy": pgettext_lazy("work", "tidy up"),
    "workpurge": pgettext_lazy("work", "tidy up"),
    "atMost": _("lease expires {t} at the latest"),
    "scale": _("grid lines every {s}"),
    "folded": _("{s} left out"),
    "xatmost": _(
        "{node} leases v{n} until {t} at the latest. Then it ends the transaction itself."
        " If it does not, the publisher ends the session a second later, so the wait cannot last longer."
    ),
    "xWait": _(
        "The publisher waited {s} s until {node} had left v{n}. The bracket is as long as the wait."
        " Click it or press Enter to zoom, Escape to go back."
    ),
    "xfill": _("The fill gives existing rows their entries while clients read and write."),
    "xverify": _("Verify compares every row with its entry before any statement reads the index."),
    "xdelete": _("Data that no version reads is deleted from the store."),
    "xUse": _(
        "{node} used v{n} for as long as this bar. In it: {state}."
        " Versions take turns in two rows, so that two in use are both seen."
    ),
    "xDown": _("{node} did not answer for as long as this. Until its lease expires, it might still write."),
    "xFold": _("Nothing happened to any node or version for {s} s: this time is folded. Waits are never folded."),
}
SCENE: dict[str, str | Promise] = {
    "scene": _("The cluster"),
    "inUseNone": _("no version in use: the next statement uses v{n}"),
    "inUse": _("versions of the schema in use: {n} of at most 2"),
    "inUseFull": _("versions of the schema in use: {n} of at most 2, so the next one waits"),
    "inUseSlim": _("{n} of at most 2 versions in use: the next waits"),
    "publisher": _("publisher"),
    "clients": _("clients"),
    "read": _("read"),
    "write": _("write"),
    "entry": _("index entry, written with its row"),
    "store": _("one store,|shared by|all nodes"),
    "perS": _("{n} statements/s"),
    "rows": _("{n} rows"),
    "entries": _("{n} entries"),
    "ended": _("Traffic ended {m} ago: no client runs."),
    "ends": _("Traffic ends in {s} s."),
    "lease": _("lease of v{n} ends in {t}"),
    "leaseShort": _("lease: {t} left"),
    "waitsFor": _("waits for {node}: {s} s"),
    "waitStep": _("{s} s for {node}"),
    "wait": pgettext_lazy("step", "wait"),
    "done": pgettext_lazy("step", "done"),
    "sparkStarts": _("Spark starts"),
    "reading": _("Spark reads rows"),
    "doneOf": _("{p} %, {done} of {total} rows"),
    "afterWork": _("v{n} comes after the {work}: {far}"),
    "pause": _("Pause the picture"),
    "paused": _("Picture paused"),
    "lineUses": _("{node} uses {uses}."),
    "lineNone": _("{node} uses no version."),
    "lineDown": _("{node} ({kind}) does not answer; it leases {uses}."),
    "lineWaits": _("The publisher has waited {s} s for {node} to leave v{n}, until {t} at the latest."),
    "lineWaited": _("The publisher waited {s} s for {node} to leave v{n}."),
    "xrack": _(
        "Nodes can use two adjacent versions of the schema at once, never three. The third waits outside."
        " Press Why does it wait? to see what three would break."
    ),
    "xPublisher": _("The publisher publishes one version after another. It waits until nodes have left the older one."),
    "xPublisherWaits": _("The publisher holds the next version until {node} has left v{n}. Clients do not wait."),
    "xNode": _("{node} is a server. Its bars are the versions of the schema that its transactions use."),
    "xDead": _(
        "The publisher cannot know that {node} is dead. Until {t} it might still write with v{n}, so its lease counts."
    ),
    "xSession": _("Session {who} has a transaction open on {node}. It keeps v{n} until it ends, or until {t}."),
    "xclients": _("These clients run statements."),
    "xClients": _("These clients run statements on {node}. Each dot stands for many: dark ones write."),
    "xstore": _("All nodes read and write one store. So two nodes with different versions can harm each other's rows."),
    "xStorage": _("Storage s{n} keeps its share of the rows, and the index entries of those rows."),
    "xchange": _("You asked for this statement. The cluster makes versions of it, each compatible with the next."),
    "xabsent": _("In v{n} the {what} does not exist for any statement."),
    "xdelete-only": _("In v{n} the {what} is delete-only: a deleted row loses its entry, a new row gets none yet."),
    "xwrite-only": _("In v{n} the {what} is write-only: each written row gets its entry, and no statement reads it."),
    "xreorganising": _("In v{n} the {what} is write-only while a fill gives existing rows their entries."),
    "xpublic": _("In v{n} everything is public: statements read it."),
    "xwrong": _("Each client remembers what it wrote and compares every answer with it. This must stay 0."),
}
