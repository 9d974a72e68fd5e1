"""The texts of the shell page, which has no templates."""

from django.utils.translation import gettext_noop as _

WORDS = {
    "loading": _("Loading the lab: %s of %s MB"),
    "starting": _("Starting Python in your browser"),
    "soon": _("The page opens when Python has started."),
    "alone": _(
        "This window allows no service worker. Chapters, stage and explorer work. Your own tables, rollouts and offline"
        " use need a normal window."
    ),
    "insecure": _("the lab needs https, or an address on localhost"),
    "failed": _("The lab cannot start: %s"),
    "here": _("The lab runs in your browser. Nothing leaves it."),
    "export": _("Export progress"),
    "import": _("Import progress"),
    "start_over": _("Delete progress"),
    "sure": _("Delete your progress in this browser? You start over with the first chapter."),
    "sure_import": _("Import this file? It replaces your progress in this browser."),
    "exported": _("Your progress was saved as %s."),
    "imported": _("Your progress was imported."),
    "deleted": _("Your progress was deleted."),
    "other_tab": _("The lab is open in another tab. Export or delete your progress there."),
    "not_kept": _("This file holds no progress of this version of the lab."),
}
