"""The import rule for pure modules, on a small graph."""

import ast
import re
from graphlib import TopologicalSorter

import pytest
from grimp import ImportGraph, build_graph

from schemalab.floors import ROOT, breaches, contract_of, pure_files, purity

RULE = purity(
    shell=["*.models", "nodes.server"], pure=["schemalab.environment"], allowed=["changes.ddl.statements: postgast"]
)

IMPORTS_TESTS = re.compile(r"^\s*(from|import) tests\b", re.MULTILINE)


@pytest.mark.parametrize(
    ("module", "is_pure"),
    [
        pytest.param("leases.rules", True, id="a module is pure unless it is named as shell"),
        pytest.param("leases.models", False, id="a file with one of Django's names is shell"),
        pytest.param("leases.models.lease", False, id="what lies below shell is shell"),
        pytest.param("nodes.server", False, id="a module named after its technology is shell"),
        pytest.param("schemalab.environment", True, id="a pure module may be named in a shell package"),
        pytest.param("leases", False, id="a package itself is neither: it may be imported by none"),
    ],
)
def test_what_is_pure(module: str, is_pure: bool) -> None:
    assert RULE.is_pure(module) is is_pure


@pytest.mark.parametrize(
    ("importer", "imported", "is_kept"),
    [
        pytest.param("leases.rules", "dataclasses", True, id="the standard library is open to all"),
        pytest.param("leases.rules", "catalog.states", True, id="a pure module may import another"),
        pytest.param("leases.rules", "leases.models", False, id="a pure module may not import a shell file"),
        pytest.param("leases.rules", "django", False, id="a pure module may not import Django"),
        pytest.param("changes.ddl.statements", "postgast", True, id="the parser is allowed where it is named"),
        pytest.param("leases.rules", "postgast", False, id="the parser is not allowed elsewhere"),
        pytest.param("leases.models", "django", True, id="a shell file may import what it likes"),
    ],
)
def test_what_a_pure_module_may_import(importer: str, imported: str, is_kept: bool) -> None:
    graph = ImportGraph()
    graph.add_import(importer=importer, imported=imported, line_number=3, line_contents=f"import {imported}")
    found = list(breaches(RULE, graph, ["leases", "catalog", "changes"]))
    assert found == ([] if is_kept else [(importer, imported, [3])])


def test_the_rule_table_of_states_is_pure_in_the_project_itself() -> None:
    rule, packages = contract_of()
    assert "catalog" in packages
    assert rule.is_pure("catalog.states")
    assert "catalog/states.py" in pure_files()


@pytest.mark.parametrize("folder", contract_of()[1])
def test_nothing_that_people_run_needs_the_tests(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    assert [str(file) for file in files if IMPORTS_TESTS.search(file.read_text())] == []


BY_CUSTOM = frozenset({
    "__init__", "__pycache__", "admin", "apps", "commands", "consumers", "forms", "management", "migrations", "models",
    "routing", "selectors", "services", "signals", "streams", "tasks", "templatetags", "urls", "views",
})  # fmt: skip
"""Names of Django's, which say by themselves what is in them."""


@pytest.mark.parametrize("package", contract_of()[1])
def test_each_package_is_its_table_of_contents(package: str) -> None:
    """Its `__init__` names every module and room beside it, and no other."""
    unnamed, gone = [], []
    for init in sorted((ROOT / package).rglob("__init__.py")):
        room = init.parent
        if BY_CUSTOM.isdisjoint(room.relative_to(ROOT).parts):
            here = {file.stem for file in room.glob("*.py")} | {file.parent.name for file in room.glob("*/__init__.py")}
            said = ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))) or ""
            unnamed += [str(room / name) for name in sorted(here - BY_CUSTOM) if not re.search(rf"\b{name}\b", said)]
            lines = re.findall(r"^ *([a-z_]+)/?  +\S", said, re.MULTILINE)
            gone += [str(room / name) for name in lines if name not in here and not (room / name).is_dir()]
    assert (unnamed, gone) == ([], [])


def test_no_import_circle() -> None:
    """Not even by an import for types alone: whoever reads a module can read what it needs first."""
    graph = build_graph(*contract_of()[1])
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the modules of a circle
