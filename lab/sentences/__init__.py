"""The whole language of golden scripts: `lab.language` with every sentence made known to it."""

from lab.language import COMMANDS, Lab, Refusal, perform
from lab.sentences import changes, nodes, reorganisation, rows, schema

__all__ = ["COMMANDS", "Lab", "Refusal", "changes", "nodes", "perform", "reorganisation", "rows", "schema"]
