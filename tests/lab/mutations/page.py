"""`python -m tests.lab.mutations > docs/reference/rules-left-out.md`: which rule is noticed by what, when it is off."""

from collections.abc import Iterator

from lab.cluster.control_plane import Without
from lab.simulator.faults import ALL, names_of
from tests.lab.mutations import rules_left_out as table

HEAD = """\
# Rules left out

Written by `python -m tests.lab.mutations`: do not edit it. Each rule of the [protocol](protocol.md), sections 5 to 8,
what switches it off, and what noticed that it was off. `without` names rules that the simulator and scripts can leave
out; a place is production code in which a text is replaced for the length of a test. All of it is run by the tests.

| rule | what is off | switch | noticed by |
|---|---|---|---|
"""


def write_page() -> str:
    """The table of all rules, by id."""
    rows = [*_rows(), *((rule, why, "", "") for rule, why in table.UNSWITCHED.items())]
    return HEAD + "".join(f"| {' | '.join(cells)} |\n" for cells in sorted(rows, key=lambda row: _place(row[0])))


def _place(rules: str) -> int:
    return table.RULES.index(table.ids_of(rules)[0])


def _rows() -> Iterator[tuple[str, str, str, str]]:
    for seen in table.IN_SIMULATOR:
        faults = "" if seen.faults == ALL else f" --faults {names_of(seen.faults)}"
        found = f"`simulate --seed {seen.seed}{faults}` finds {seen.breaks}"
        yield seen.rules, _off(seen.without), _named(seen.without), found
    for script in table.IN_SCRIPTS:
        yield script.rules, _off(script.without), _named(script.without), f"script `{script.script}`"
    for one in table.SWITCHES:
        yield one.rules, one.what, f"`{one.place}`", f"`{one.test.partition('::')[2]}`"
    for test in table.IN_TESTS:
        yield test.rules, test.what, "", ", ".join(f"`{name.partition('::')[2]}`" for name in test.tests)
    for behind in table.BEHIND:
        yield behind.rules, _off(behind.without), _named(behind.without), f"not alone: {behind.holds}"


def _off(without: tuple[Without, ...]) -> str:
    return " and ".join(rule.value for rule in without)


def _named(without: tuple[Without, ...]) -> str:
    return ", ".join(f'`without "{rule.value}"`' for rule in without)
