"""The whole language of golden scripts: `lab.scripts.commands` with every sentence, registered by import.

schema          tables and versions made by hand, rules left out, time, inspection
changes         plan, submit and step a change; pause, resume, cancel; its worker dies
reorganisation  filling by hand, one chunk at a time; verification
model           an explorer's model: its tables, its change, its fill range by range
nodes           leases, processes, clocks, and the messages between a node and the database
rows            transactions and statements of a session
requests        requests that a node's router plans, and the storages check
"""

from lab.scripts.commands import COMMANDS, Lab, Refusal, perform
from lab.scripts.commands_of import changes, model, nodes, reorganisation, requests, rows, schema
from lab.scripts.commands_of.rows import COMMIT_ANSWERS, TRIED_AGAIN

__all__ = [
    "COMMANDS", "COMMIT_ANSWERS", "TRIED_AGAIN", "Lab", "Refusal",
    "changes", "model", "nodes", "perform", "reorganisation", "requests", "rows", "schema",
]  # fmt: skip
