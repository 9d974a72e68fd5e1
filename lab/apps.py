from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from changes.plan.model import Plan
    from changes.proofs import Json


class LabConfig(AppConfig):
    name = "lab"

    def ready(self) -> None:
        from changes import proofs
        from lab import signals
        from lab.explorer.fingerprint import fingerprint

        assert signals
        proofs.judged_by(fingerprint)
        proofs.renamed_by(_in_names_of)


def _in_names_of(plan: "Plan", answer: "Json") -> "Json":
    from lab.pages.counterexamples import in_names_of

    return in_names_of(plan, answer)
