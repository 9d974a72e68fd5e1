"""The rule of a browser's imports: our packages, the standard library as WebAssembly has it, and few others. `python -m
schemalab.anywhere.loaded` starts the site under it and opens its pages, natively: `make check`."""

import importlib.abc
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

OURS = (
    "catalog",
    "changes",
    "expressions",
    "lab",
    "leases",
    "nodes",
    "rollouts",
    "schemalab",
    "spark_tasks",
    "storage",
)
THEIRS = ("asgiref", "csp", "django", "markdown_it", "mdurl", "sqlparse")
"""Packages that the folder brings along: all of them pure Python."""

OF_THE_PARSER = ("google", "postgast")
"""Messages of parse trees; the parser is WebAssembly there (`parser`)."""

ABSENT = ("fcntl", "grp", "pwd", "resource", "syslog", "termios")
"""Modules of the standard library that WebAssembly has not."""

NOT_OURS = ("schemalab.settings", "schemalab.celery", "changes.models", "leases.models", "nodes.models")
"""Modules of ours that stand for a cluster: import them only where a cluster uses them."""

PAGES = ("", "lab/", "lab/stage/", "lab/explorer/", "lab/own/", "lab/rollouts/", "lab/live/", "docs/")


class OnlyWhatIsThere(importlib.abc.MetaPathFinder):
    """Refuses, as a browser does, every module that is absent there."""

    def __init__(self) -> None:
        self.refused: list[str] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if may_load(fullname):
            return None
        self.refused.append(fullname)
        raise ModuleNotFoundError(f"no module {fullname} in a browser", name=fullname)


def may_load(module: str) -> bool:
    top = module.partition(".")[0]
    if module in NOT_OURS or top in ABSENT:
        return False
    is_of_python = top in sys.stdlib_module_names or top.startswith("_sysconfigdata")
    return is_of_python or top in (*OURS, *THEIRS, *OF_THE_PARSER)


def main() -> None:
    """Start the site under the rule and open pages; a refused module ends it with the chain of imports."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "schemalab.anywhere.settings"
    sys.meta_path.insert(0, OnlyWhatIsThere())
    import django

    django.setup()
    from schemalab.anywhere.site import Site

    site = Site("/")
    for page in PAGES:
        status = site.answer("GET", f"/{page}", b"", {}).status
        if status not in (200, 302, 501):
            sys.exit(f"schemalab.anywhere.loaded: /{page} answers {status}")


if __name__ == "__main__":
    main()
