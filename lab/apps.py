from django.apps import AppConfig


class LabConfig(AppConfig):
    name = "lab"

    def ready(self) -> None:
        """Stored proofs are about this code and no other; see `changes.proofs`."""
        from changes import proofs
        from lab.explorer.fingerprint import fingerprint

        proofs.judged_by(fingerprint)
