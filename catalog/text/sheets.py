"""Texts in a CSV file that people open with a spreadsheet.

A text that a spreadsheet would take for a formula gets an apostrophe in front: names and statements come from users.
"""

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
BOM = "\ufeff"
"""Without it some spreadsheets take UTF-8 for something else."""


def cell(value: object) -> str:
    """The value as a text, and never as a formula."""
    text = str(value)
    return f"'{text}" if text.startswith(FORMULAS) else text
