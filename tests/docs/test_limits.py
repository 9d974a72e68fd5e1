"""A limit that nobody reads limits nothing, whatever its name says."""

import ast
import re
from collections import Counter

from tests.docs.places import kept, source, tree

LIMIT = re.compile(r"[A-Z0-9_]+_(MAX|MIN|S|MS|MB|AIM)")


def limits_of(module: ast.Module) -> list[str]:
    """The limits that a module sets, by the units at the end of their names."""
    targets = [
        target
        for line in module.body
        if isinstance(line, ast.Assign | ast.AnnAssign)
        for target in (line.targets if isinstance(line, ast.Assign) else [line.target])
    ]
    names = [name for target in targets for name in (target.elts if isinstance(target, ast.Tuple) else [target])]
    return [name.id for name in names if isinstance(name, ast.Name) and LIMIT.fullmatch(name.id)]


def test_every_limit_is_read() -> None:
    files = [file for file in kept() if file.endswith(".py") and not file.startswith("tests/")]
    limits = Counter(limit for file in files for limit in limits_of(tree(file)))
    words = Counter(word for file in files for word in re.findall(r"\w+", source(file)))
    assert len(limits) > 100
    assert [limit for limit, places in limits.items() if words[limit] <= places] == []
