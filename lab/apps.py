from django.apps import AppConfig


class LabConfig(AppConfig):
    name = "lab"

    def ready(self) -> None:
        """Stored proofs are about this code (`changes.proofs`); who signs in keeps what they did before."""
        from changes import proofs
        from lab import signals
        from lab.explorer.fingerprint import fingerprint

        assert signals
        proofs.judged_by(fingerprint)
