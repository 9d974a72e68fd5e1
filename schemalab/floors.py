"""The import rule of pure modules, as a contract type for import-linter. A module is pure unless pyproject.toml names
it as shell. `python -m schemalab.floors` prints the files of all pure modules for mypy."""

import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Purity:
    shell: tuple[str, ...]
    pure: tuple[str, ...]
    allowed: tuple[tuple[str, str], ...]

    def is_pure(self, module: str) -> bool:
        if "." not in module or module in self.pure:
            return module in self.pure
        ancestors = (module.rsplit(".", cut)[0] for cut in range(module.count(".")))
        return not any(fnmatchcase(ancestor, pattern) for ancestor in ancestors for pattern in self.shell)

    def may_import(self, importer: str, imported: str) -> bool:
        top = imported.split(".")[0]
        is_allowed = any(fnmatchcase(importer, pattern) and top == package for pattern, package in self.allowed)
        return is_allowed or top in sys.stdlib_module_names or self.is_pure(imported)


def purity(*, shell: Iterable[str], pure: Iterable[str], allowed: Iterable[str]) -> Purity:
    pairs = ((pattern.strip(), package.strip()) for pattern, _, package in (line.partition(":") for line in allowed))
    return Purity(shell=tuple(shell), pure=tuple(pure), allowed=tuple(pairs))


def breaches(rule: Purity, graph: ImportGraph, roots: Iterable[str]) -> Iterator[tuple[str, str, list[int]]]:
    """(importer, imported, line numbers) of each forbidden import."""
    packages = set(roots)
    for importer in sorted(graph.modules):
        if importer.split(".")[0] in packages and rule.is_pure(importer):
            for imported in sorted(graph.find_modules_directly_imported_by(importer)):
                if not rule.may_import(importer, imported):
                    details = graph.get_import_details(importer=importer, imported=imported)
                    yield importer, imported, [detail["line_number"] for detail in details]


class PureModulesContract(Contract):  # type: ignore[misc]
    """Pure modules import only the standard library and each other."""

    shell = fields.SetField(subfield=fields.StringField())
    pure = fields.SetField(subfield=fields.StringField())
    allowed = fields.SetField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        rule = purity(shell=self.shell, pure=self.pure, allowed=self.allowed)
        found = list(breaches(rule, graph, self.session_options["root_packages"]))
        return ContractCheck(kept=not found, metadata={"breaches": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, imported, lines in check.metadata["breaches"]:
            at = ", ".join(map(str, lines))
            output.print_error(f"{importer} is pure and may not import {imported} (line {at})", bold=False)


def contract_of(pyproject: Path = ROOT / "pyproject.toml") -> tuple[Purity, list[str]]:
    linter: dict[str, Any] = tomllib.loads(pyproject.read_text())["tool"]["importlinter"]
    [contract] = [contract for contract in linter["contracts"] if contract["type"] == "pure"]
    rule = purity(shell=contract["shell"], pure=contract["pure"], allowed=contract["allowed"])
    return rule, linter["root_packages"]


def pure_files() -> list[str]:
    rule, packages = contract_of()
    found = []
    for package in packages:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if parts[-1] != "__init__" and rule.is_pure(".".join(parts)):
                found.append(str(path.relative_to(ROOT)))
    return found


if __name__ == "__main__":
    print(*pure_files(), sep="\n")
