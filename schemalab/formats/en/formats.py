"""The formats of the language."""

from schemalab.formats import DATETIME_FORMAT, TIME_FORMAT

__all__ = ["DATETIME_FORMAT", "TIME_FORMAT"]
