"""Arrow by itself, without numpy and pandas, which it would load with its first array.

Nothing here asks for either: they would cost each process 50 MB, and 0.3 s at its start. Whoever else imports them
(PySpark does, for its own checks) still can. A process has to import this before anything else of Arrow: so do the
rooms whose modules use it.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from threading import get_ident
from types import ModuleType

LEFT_OUT = ("numpy", "pandas")


class _Hidden(MetaPathFinder):
    """Hides what is left out from the thread that imports Arrow."""

    def __init__(self) -> None:
        self._thread = get_ident()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in LEFT_OUT and get_ident() == self._thread:
            raise ModuleNotFoundError(f"{fullname} is left out: Arrow is used by itself", name=fullname)
        return None


def import_alone() -> None:
    """Import Arrow, and have it look for both: it does so once in a process."""
    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        import pyarrow as pa
        import pyarrow.compute

        pa.array([0])
        assert pyarrow.compute
    finally:
        sys.meta_path.remove(hidden)


import_alone()
