"""Templates are read by people: one element a line, and no line is long."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
COLUMNS_MAX = 160
"""A tag of Django cannot be broken; 120 is what its neighbours keep to."""


def test_no_line_of_a_template_is_long() -> None:
    templates = sorted((ROOT / "templates").rglob("*.html"))
    lines = [
        (f"{path.relative_to(ROOT)}:{number}", len(line))
        for path in templates
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    ]
    assert len(templates) > 100
    assert [(at, columns) for at, columns in lines if columns > COLUMNS_MAX] == []
