"""The whole language of golden scripts: `lab.scripts.commands` with every sentence made known to it."""

from lab.scripts.commands import COMMANDS, Lab, Refusal, perform
from lab.scripts.commands_of import changes, nodes, reorganisation, rows, schema
from lab.scripts.commands_of.rows import COMMIT_ANSWERS

__all__ = [
    "COMMANDS", "COMMIT_ANSWERS", "Lab", "Refusal", "changes", "nodes", "perform", "reorganisation", "rows", "schema",
]  # fmt: skip
