"""A statement of each kind of change, and what must be there before it: the rows of the matrix. Tables `users` and
`pets` have rows. Column `note` may be NULL, `boss` refers to a row that stays, all other values differ from row to row,
so that any added rule holds."""

from dataclasses import dataclass

OPENING = (
    "lease 10 s",
    "table users (id int primary key, name text, age int not null, town int, boss int, note text)",
    "table pets (id int primary key, name text, owner int)",
)
INDEX = "create index i on users (name)"
TWO_COLUMNS = "create index i on users (note, town desc)"
PARTIAL = "create index i on users (town) where note is not null"
UNIQUE = "create unique index u on users (name)"
REQUIRED = "alter table users add column c int not null default 2"
CHECK = "alter table users add constraint k check (age <> 99)"
RESHARD = "alter table users set (sharding_func = 'mpcrc32')"
ONE_STORAGE = "alter table users set (storages = 1)"
BY_TOWN = "alter table users set (sharding_key = 'town, id')"
BY_HASH = "alter table users set (coordination = 'hash')"
REFER = "alter table pets add constraint f foreign key (owner) references users (id)"
REFER_ITSELF = "alter table users add constraint f foreign key (boss) references users (id)"


@dataclass(frozen=True, slots=True)
class ChangeKind:
    """One kind of change: its statement, and the statements that come before it."""

    name: str
    statement: str
    before: tuple[str, ...] = ()


KINDS = (
    ChangeKind("add an index", INDEX),
    ChangeKind("add a two-column index", TWO_COLUMNS),
    ChangeKind("add a partial index", PARTIAL),
    ChangeKind("add a unique index", UNIQUE),
    ChangeKind("add an optional column", "alter table users add column c text"),
    ChangeKind("add a required column", REQUIRED),
    ChangeKind("add a column with a default", "alter table users add column c text default 'x'"),
    ChangeKind("add NOT NULL", "alter table users alter column town set not null"),
    ChangeKind("add a CHECK", CHECK),
    ChangeKind("add a foreign key", REFER),
    ChangeKind("add a foreign key to the table itself", REFER_ITSELF),
    ChangeKind("create a table", "create table cars (id int primary key, name text)"),
    ChangeKind("drop an index", "drop index i", (INDEX,)),
    ChangeKind("drop a two-column index", "drop index i", (TWO_COLUMNS,)),
    ChangeKind("drop a partial index", "drop index i", (PARTIAL,)),
    ChangeKind("drop a unique index", "drop index u", (UNIQUE,)),
    ChangeKind("drop an optional column", "alter table users drop column note"),
    ChangeKind("drop a required column", "alter table users drop column c", (REQUIRED,)),
    ChangeKind("drop a column with an index and a CHECK", "alter table users drop column town", (
        "create index i on users (town)", "alter table users add constraint k check (town <> 9999)",
    )),
    ChangeKind("drop NOT NULL", "alter table users alter column age drop not null"),
    ChangeKind("drop a CHECK", "alter table users drop constraint k", (CHECK,)),
    ChangeKind("drop a foreign key", "alter table pets drop constraint f", (REFER,)),
    ChangeKind("drop a table", "drop table pets"),
    ChangeKind("drop a table that refers", "drop table pets", (REFER,)),
    ChangeKind("change a type to text", "alter table users alter column town type text"),
    ChangeKind("change a type to a number", "alter table users alter column name type int"),
    ChangeKind("change the sharding function", RESHARD),
    ChangeKind("change the sharding key", BY_TOWN),
    ChangeKind("change the sharding key back", "alter table users set (sharding_key = 'id')", (BY_TOWN,)),
    ChangeKind("change the number of storages", ONE_STORAGE),
    ChangeKind("add an index to a table that is spread by a column", INDEX, (BY_TOWN,)),
    ChangeKind("give up leases", BY_HASH),
    ChangeKind("have leases again", "alter table users set (coordination = 'lease')", (BY_HASH,)),
    ChangeKind("add an index without leases", INDEX, (BY_HASH,)),
    ChangeKind("drop a required column without leases", "alter table users drop column c", (REQUIRED, BY_HASH)),
    ChangeKind("change the sharding key without leases", BY_TOWN, (BY_HASH,)),
    ChangeKind("rename a table", "alter table users rename to people"),
    ChangeKind("rename a column", "alter table users rename column town to city"),
    ChangeKind("rename an index", "alter index i rename to j", (INDEX,)),
    ChangeKind("rename a constraint", "alter table users rename constraint k to l", (CHECK,)),
    ChangeKind("comment on a column", "comment on column users.town is 'where from'"),
    ChangeKind("set a default", "alter table users alter column town set default 5"),
    ChangeKind("several at once, added", (
        "alter table users add column c int not null default 2, add constraint kc check (c <> 99),"
        " add constraint uc unique (name)"
    )),
    ChangeKind("several at once, dropped", "alter table users drop column note, drop constraint k", (CHECK,)),
    ChangeKind("several at once, added and dropped", (
        "alter table users add column c int not null default 2, drop column note, alter column town set not null"
    )),
    ChangeKind("a column that refers, added", "alter table pets add column second int references users (id)"),
)  # fmt: skip


class UnknownKind(ValueError):
    """No kind has this name: says which there are."""


def kinds_named(names: tuple[str, ...]) -> tuple[ChangeKind, ...]:
    """The kinds whose names contain one of these words; all without any."""
    found = tuple(kind for kind in KINDS if not names or any(name in kind.name for name in names))
    for name in names:
        if not any(name in kind.name for kind in KINDS):
            raise UnknownKind(f"no kind of change is called {name!r}; there are: {'; '.join(k.name for k in KINDS)}")
    return found
