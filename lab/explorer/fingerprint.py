"""The text of all the code that the explorer runs, as a key of stored answers: a proof is about that code."""

import hashlib
import json
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("catalog", "expressions", "storage", "leases", "changes", "lab/explorer")
"""Folders and files with the rules, and with their shells, which are hashed along."""

RECORDED = "fingerprints.json"
"""Fingerprints by their places, in an archive that holds only the code that a browser loads: links stay the same."""


@cache
def fingerprint(root: Path = ROOT, places: tuple[str, ...] = PLACES) -> str:
    recorded = root / RECORDED
    if recorded.is_file():
        known: dict[str, str] = json.loads(recorded.read_text(encoding="utf-8"))
        if " ".join(places) in known:
            return known[" ".join(places)]
    found = hashlib.sha256()
    for place in places:
        for file in [root / place] if (root / place).is_file() else sorted((root / place).rglob("*.py")):
            found.update(f"{file.relative_to(root)}\n".encode())
            found.update(file.read_bytes())
    return found.hexdigest()[:16]
