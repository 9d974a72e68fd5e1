"""The page: a row for each client, then what is refused and what is wrong."""

from collections.abc import Sequence
from pathlib import Path

from tests.clients.outcomes import Client, Outcome, Step

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "clients.md"
HEAD = """# Clients

Written by `make clients`, which starts a cluster and runs real clients against one of its nodes; the scripts are in
`tests/clients/drivers` and `tests/clients/programs.py`. *Refused* is what a node refuses by name, with what to do
instead; *wrong* is anything else that is not as on PostgreSQL. What a node's SQL has is in [SQL on a node](sql.md).
"""


def write_page(machine: str, clients: Sequence[Client]) -> Path:
    """Write it; returns where it is."""
    tried = [client for client in clients if not client.untried]
    rows = [
        f"| {c.name} | {c.version} | {_all(c)} | {_count(c, Outcome.REFUSED)} | {_count(c, Outcome.WRONG)} |"
        for c in tried
    ]
    table = ["| client | version | works | refused | wrong |", "|---|---|---|---|---|", *rows]
    missing = [f"| {c.name} | {c.untried} |" for c in clients if c.untried]
    parts = [HEAD, f"Machine: {machine}.\n", "\n".join(table)]
    if missing:
        parts.append("\n## Not tried here\n\n| client | why |\n|---|---|\n" + "\n".join(missing))
    for title, outcome in (("Refused by name", Outcome.REFUSED), ("Wrong", Outcome.WRONG)):
        lines = [_line(client, step) for client in tried for step in client.steps if step.outcome is outcome]
        if lines:
            parts.append(
                f"\n## {title}\n\n| client | what | answer | instead |\n|---|---|---|---|\n" + "\n".join(lines)
            )
    parts.append("\n## What was tried\n")
    parts += [f"**{c.name}**: {'; '.join(_shown(step) for step in c.steps)}.\n" for c in tried]
    PAGE.write_text("\n".join(parts), encoding="utf-8")
    return PAGE


def _all(client: Client) -> str:
    return f"{client.count(Outcome.WORKS)} of {len(client.steps)}"


def _count(client: Client, outcome: Outcome) -> str:
    return str(client.count(outcome) or "")


def _line(client: Client, step: Step) -> str:
    return f"| {client.name} | {_cell(step.what)} | {_cell(step.message)} | {_cell(step.hint)} |"


def _shown(step: Step) -> str:
    return step.what if step.outcome is Outcome.WORKS else f"*{step.what}* ({step.outcome.value})"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")[:300]
