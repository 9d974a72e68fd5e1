"""The words of a rollout on the ladder's stage, where they are not those of versions and elements."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from lab.pages.ladder_words import StageWords

SESSION: dict[str, str | Promise] = {
    "actor deploys": pgettext_lazy("actor", "deploys"),
    "actor backfill": pgettext_lazy("actor", "backfill"),
    "clause fails": _("every deploy succeeds"),
    "clause refused": _("no statement of a running release is refused"),
    "clause lost": _("every read gives what was committed last"),
    "clause invented": _("no read gives what no user wrote"),
    "name fails": _("failed deploy"),
    "name refused": _("refused statement"),
    "name lost": _("lost write"),
    "name invented": _("invented value"),
}

WORDS = StageWords(
    (_("Rows"), _("What users gave last")),
    {
        "ladder": _("Your rollout, from the first deploy to the last"),
        "publisher": pgettext_lazy("who acts", "Deploys"),
        "reorganisation": pgettext_lazy("who acts", "Backfill"),
        "store": _("The database"),
        "next tile": _("next deploy"),
        "first tile": _("first deploy"),
        "say empty": _("Place deploys on the line. Tap one, or drag it."),
        "tray": _("Deploys that are left out"),
        "all placed": _("All deploys are in the plan."),
        "cleared": _("All deploys are left out."),
        "loose": _("{tile} is left out."),
        "where": _("{tile} is deploy {n} of {all}, after {before}."),
        "compatible": _("safe"),
        "not compatible": _("breaks"),
        "waits": _("no rollback"),
        "invented": _("invented"),
        "fails": _("fails"),
    },
)
