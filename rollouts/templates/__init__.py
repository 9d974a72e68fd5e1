"""Templates: thirteen changes, each as people first write it (rename/naive.toml) and as it is safe (rename/safe.toml).
A test holds that naive files break by their shortest trace, safe ones are proved, and traces match a PostgreSQL."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from catalog.text.message import Text

NAIVE, SAFE = "naive", "safe"


@dataclass(frozen=True, slots=True)
class Template:
    name: str
    title: Text
    mistake: Text
    rule: Text

    @property
    def naive(self) -> str:
        return text_of(self.name, NAIVE)

    @property
    def safe(self) -> str:
        return text_of(self.name, SAFE)


FOLDER = Path(__file__).parent


@cache
def text_of(name: str, form: str) -> str:
    return (FOLDER / name / f"{form}.toml").read_text(encoding="utf-8")


PGROLL = {path.parent.name: path.read_text(encoding="utf-8").rstrip() for path in FOLDER.glob("*/pgroll.json")}
"""pgroll's operations for the templates for which it has a recipe, in the form of its JSON schema. It keeps both
columns and two triggers while both versions run. Whether `up` and `down` are each other's inverse it does not check."""

TEMPLATES = (
    Template(
        "rename",
        Text("Rename a column"),
        Text("RENAME COLUMN: servers of the old release still name the old column."),
        Text("Add a second column, write both, backfill, read the new one, then drop the old one."),
    ),
    Template(
        "split",
        Text("Split a column"),
        Text("The backfill skips rows that are not NULL. The old release has changed some of them since."),
        Text("Backfill rows that differ, after the old release is gone."),
    ),
    Template(
        "merge",
        Text("Merge columns"),
        Text("The backfill runs while the old release still writes the old columns only."),
        Text("Write both first. Backfill when every running release writes both."),
    ),
    Template(
        "change-type",
        Text("Change a type"),
        Text("The cast fails for a value that the old release may write."),
        Text("Add a column of the new type. Say in words what the odd values become."),
    ),
    Template(
        "add-not-null",
        Text("Add NOT NULL"),
        Text("The old release inserts rows without the column, before the constraint and after it."),
        Text("Write the column first, backfill, then require it."),
    ),
    Template(
        "make-nullable",
        Text("Make a column nullable"),
        Text("The old release reads a NULL that it does not expect."),
        Text("Read NULL in every release before any release writes it."),
    ),
    Template(
        "move-column",
        Text("Move a column to another table"),
        Text("The backfill copies a value that a transaction is changing. It finds no row to update yet."),
        Text("Let the backfill lock the row that it reads, and overwrite."),
    ),
    Template(
        "change-foreign-key",
        Text("Change a foreign key"),
        Text("The old release adds parents to the old table only."),
        Text("Write both parents first. Add the constraint NOT VALID, validate it, then drop the old one."),
    ),
    Template(
        "unique",
        Text("Make a column unique over duplicates"),
        Text("The index fails for two rows with one value."),
        Text("Index only rows that the new release writes. Existing duplicates stay until their owners decide."),
    ),
    Template(
        "uuid-keys",
        Text("Change to UUID keys"),
        Text("Rows that the old release inserts after the backfill have no UUID, so the new release misses them."),
        Text("Write the UUID in every release before any release reads it."),
    ),
    Template(
        "soft-delete",
        Text("Delete softly"),
        Text("The old release shows rows that the new one has marked as deleted."),
        Text("Respect the mark in every release before any release sets it."),
    ),
    Template(
        "change-meaning",
        Text("Change the meaning of a column"),
        Text("Both releases read the other's values as their own. No statement is refused."),
        Text("Put the new meaning into a new column."),
    ),
    Template(
        "drop-column",
        Text("Drop a column"),
        Text("The column is NOT NULL, so inserts of the new release are refused before it is dropped."),
        Text("DROP NOT NULL first. Drop the column when no running release names it."),
    ),
)
BY_NAME = {one.name: one for one in TEMPLATES}
