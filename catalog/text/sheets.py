"""Texts in CSV files: an apostrophe keeps spreadsheets from reading users' texts as formulas."""

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
BOM = "\ufeff"
"""Without it some spreadsheets take UTF-8 for something else."""


def cell(value: object) -> str:
    text = str(value)
    return f"'{text}" if text.startswith(FORMULAS) else text
