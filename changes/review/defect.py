"""A fault of a plan at one step, with the clause that breaks."""

from dataclasses import dataclass

from catalog.text.message import Text, Values, joined


@dataclass(frozen=True, slots=True)
class Fault:
    at: int
    clauses: tuple[str, ...]
    why: Text

    @property
    def text(self) -> Text:
        values: Values = {"at": self.at + 1, "what": self.why}
        if not self.clauses:
            return Text("step {at}: {what}", values)
        clauses = joined([Text("{name}", {"name": clause}) for clause in self.clauses])
        return Text("step {at} ({clauses}): {what}", values | {"clauses": clauses})

    def __str__(self) -> str:
        return str(self.text)
