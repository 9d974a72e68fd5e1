"""The whole language of golden scripts: `lab.scripts.commands` with every sentence made known to it."""

from lab.scripts.commands import COMMANDS, Lab, Refusal, perform
from lab.scripts.commands_of import changes, nodes, reorganisation, rows, schema
from lab.scripts.commands_of.rows import TOLD_OF_COMMIT

__all__ = [
    "COMMANDS", "TOLD_OF_COMMIT", "Lab", "Refusal", "changes", "nodes", "perform", "reorganisation", "rows", "schema",
]  # fmt: skip
