"""Which rules a proof is about: the text of all the code that the explorer runs.

An answer that was stored is an answer about that code. When a rule changes, however little, old
answers say nothing any more; so their keys carry this fingerprint.
"""

import hashlib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("catalog", "expressions", "storage", "leases", "changes", "lab/explorer")
"""Where the rules are. Their shells are hashed along: it is not worth telling them apart."""


@cache
def fingerprint() -> str:
    """Sixteen hex characters, the same in every process that runs this code."""
    found = hashlib.sha256()
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).glob("*.py")):
            found.update(f"{folder}/{file.name}\n".encode())
            found.update(file.read_bytes())
    return found.hexdigest()[:16]
