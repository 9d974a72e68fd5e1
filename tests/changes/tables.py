"""The tables and statements that tests of plans speak of."""

from catalog.descriptor import Descriptor
from catalog.types import SqlType
from changes.actions import CreateIndex, CreateTable, DropIndex, DropTable, IndexPart, Name, NewColumn
from changes.plan import Plan
from changes.planner import make_plan

USERS, BY_NAME = Name("users"), Name("by_name")
COLUMNS = (NewColumn(Name("id"), SqlType.INTEGER), NewColumn(Name("name"), SqlType.TEXT))
CREATE_TABLE = CreateTable(USERS, COLUMNS, primary_key=(Name("id"),))
DROP_TABLE = DropTable(USERS)
CREATE_INDEX = CreateIndex(BY_NAME, USERS, (IndexPart(Name("name"), descending=True),))
DROP_INDEX = DropIndex(BY_NAME, USERS)


def users() -> Descriptor:
    """Table users, public, version 2."""
    return make_plan(CREATE_TABLE, None, table_id=7).result


def indexed_users() -> Descriptor:
    """Table users with the public index by_name, version 5."""
    return make_plan(CREATE_INDEX, users()).result


def plans() -> dict[str, Plan]:
    """One plan of every sort, by name."""
    return {
        "add a table": make_plan(CREATE_TABLE, None, table_id=7),
        "drop a table": make_plan(DROP_TABLE, users()),
        "add an index": make_plan(CREATE_INDEX, users()),
        "drop an index": make_plan(DROP_INDEX, indexed_users()),
    }
