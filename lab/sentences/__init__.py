"""The whole language of golden scripts: `lab.language` with every sentence made known to it."""

from lab.language import COMMANDS, Lab, Refusal, perform
from lab.sentences import changes, nodes, reorganisation, rows, schema
from lab.sentences.rows import TOLD_OF_COMMIT

__all__ = [
    "COMMANDS", "TOLD_OF_COMMIT", "Lab", "Refusal", "changes", "nodes", "perform", "reorganisation", "rows", "schema",
]  # fmt: skip
