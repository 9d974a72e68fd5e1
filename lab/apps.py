from django.apps import AppConfig


class LabConfig(AppConfig):
    name = "lab"

    def ready(self) -> None:
        """Proofs are about this code (`changes.proofs`), which names what they say; who signs in keeps their work."""
        from changes import proofs
        from lab import signals
        from lab.explorer.fingerprint import fingerprint
        from lab.pages.counterexamples import in_names_of

        assert signals
        proofs.judged_by(fingerprint)
        proofs.renamed_by(in_names_of)
