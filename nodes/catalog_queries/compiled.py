"""The text for the shadow: a client's own, with what the session knows better put in place. Pure.

    FROM pg_settings          (SELECT .. rows that the node brings ..) AS pg_settings
    current_user              (SELECT 'ann'::name AS "current_user")

Each is replaced where it stands, so the positions of errors lead back (`nodes.sql.tables_in_place`). The name of a
column stays: that of a subquery is the name of its only column.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from catalog.text.sql_names import literal, quoted
from expressions.errors import NULL_NOT_ALLOWED, UNDEFINED_OBJECT, SqlError, unsupported
from nodes.catalog_queries.asks import CATALOG, INFORMATION, key_of
from nodes.settings.known import UNRECOGNIZED
from nodes.sql.edits import Compiled, Replacement, Words, edited, nodes_in_scope
from storage.shadow.alters import OWNER

Node = Any

PUBLIC = "public"
WITHOUT_COUNT = frozenset({
    "pg_relation_size", "pg_table_size", "pg_total_relation_size", "pg_indexes_size", "pg_database_size",
    "pg_tablespace_size", "pg_sequence_last_value", "pg_stat_get_live_tuples", "pg_stat_get_dead_tuples",
    "pg_stat_get_numscans", "pg_stat_get_tuples_returned", "pg_stat_get_tuples_fetched", "pg_stat_get_tuples_inserted",
    "pg_stat_get_tuples_updated", "pg_stat_get_tuples_deleted", "pg_stat_get_mod_since_analyze",
})  # fmt: skip
WITHOUT_TEXT = frozenset({"shobj_description"})
PRIVILEGES = frozenset(
    f"has_{kind}_privilege"
    for kind in ("table", "sequence", "any_column", "column", "schema", "database", "tablespace")
)
OF_READERS = frozenset({"SELECT", "USAGE", "CONNECT", "EXECUTE"})
RELATIONS_OF = {"pg_show_all_settings": "pg_settings", "pg_lock_status": "pg_locks", "pg_cursor": "pg_cursors",
                "pg_prepared_statement": "pg_prepared_statements",
                "pg_available_extensions": "pg_available_extensions"}  # fmt: skip
"""Functions in FROM, and the relations that show what they give."""

REPLACED = (
    frozenset({"version", "pg_backend_pid", "current_database", "current_setting", "pg_get_userbyid", "set_config"})
    | WITHOUT_COUNT
    | WITHOUT_TEXT
    | RELATIONS_OF.keys()
)
"""Functions whose calls never reach the shadow."""


@dataclass(frozen=True)
class Facts:
    """Values of a session. `setting` gives one by its name, or raises 42704; `settings` all that SHOW shows."""

    user: str
    database: str
    owner: str
    version: str
    pid: int
    may_write: bool
    setting: Callable[[str], str]
    would_show: Callable[[str, str | None], str]
    """The answer to SHOW after a setting has this value; None: the one that RESET gives."""
    settings: Callable[[], Iterable[tuple[str, str]]]
    relations: Mapping[str, str] = field(default_factory=dict)
    """Queries in place of relations, by their names."""
    parameters: Sequence[object] | None = ()
    """Values of the text's parameters; None before they are given, when it is described."""
    is_of_rows: bool = False
    """The text is for the store, whose role may not ask for settings."""
    is_bare: bool = False
    """The values stand where no query may stand, and no name is asked for."""
    sets: list[tuple[str, str | None, bool]] = field(default_factory=list)
    """Settings that the text sets: name, value, whether for the transaction. Found by `compiled`."""


def compiled(text: str, select: Node, facts: Facts) -> Compiled:
    """The text of `select`, which stands alone in it. Raises `SqlError` for what a node cannot tell."""
    return edited(text, replaced(Words(text), select, facts))


def replaced(words: Words, select: Node, facts: Facts) -> list[Replacement]:
    walk = _Walk(words, facts)
    walk.read(select)
    return walk.replacements


@dataclass
class _Walk:
    words: Words
    facts: Facts
    replacements: list[Replacement] = field(default_factory=list)
    done: set[int] = field(default_factory=set)
    """Places of calls in FROM that are replaced."""
    arrays: set[int] = field(default_factory=set)
    """Places of calls that ANY or ALL takes as an array: in brackets of its own a query would be one of rows."""

    def read(self, select: Node) -> None:
        for node, names in nodes_in_scope(select):
            kind = node.DESCRIPTOR.name
            if kind == "RangeVar" and (node.schemaname or node.relname not in names):
                self._relation(node)
            elif kind == "RangeFunction":
                self._function_in_from(node)
            elif kind == "A_Expr" and node.rexpr.WhichOneof("node") == "func_call":
                self.arrays.add(node.rexpr.func_call.location)
            elif kind == "FuncCall" and node.location not in self.done:
                self._call(node)
            elif kind == "SQLValueFunction":
                self._value(node)
            elif kind == "ColumnRef":
                self._column(node)

    # -- relations -------------------------------------------------------------------------------------------------

    def _relation(self, node: Node) -> None:
        key = key_of(node)
        query = None if key is None else self.facts.relations.get(key)
        if query is None:
            return
        first = self.words.index(node.location)
        last = first + (2 if node.schemaname else 0)
        if self.words[last + 1] == "*":
            last += 1
        if not node.inh:
            raise unsupported("ONLY of this relation of the catalog", node.location)
        alias = "" if node.alias.aliasname else f" AS {quoted(node.relname)}"
        text = f"({query}){alias}"
        if self.words[first - 1] == "table":
            first, text = first - 1, f"SELECT * FROM {text}"
        self._replace(first, last, text)

    def _column(self, node: Node) -> None:
        parts = [part.string.sval for part in node.fields]
        if len(parts) < 3 or parts[0] not in (CATALOG, INFORMATION):
            return
        key = parts[1] if parts[0] == CATALOG else f"{INFORMATION}.{parts[1]}"
        if key in self.facts.relations:
            first = self.words.index(node.location)
            self._replace(first, first + 1, "")

    def _function_in_from(self, node: Node) -> None:
        calls = [item.list.items[0] for item in node.functions if item.HasField("list")]
        calls = [call for call in calls if call.HasField("func_call")]
        for call in calls:
            name = name_of(call.func_call)
            query = self.facts.relations.get(RELATIONS_OF.get(name, ""))
            if query is None:
                value = self._constant(name)
                if value is None:
                    continue
                query = f"SELECT {value} AS {quoted(node.alias.aliasname or name)}"
            if len(node.functions) > 1 or node.ordinality:
                raise unsupported(f"function {name} beside others in FROM", call.func_call.location)
            alias = "" if node.alias.aliasname else f' AS "{name}"'
            self.done.add(call.func_call.location)
            self._replace_call(call.func_call, f"({query}){alias}")

    # -- values ----------------------------------------------------------------------------------------------------

    def _value(self, node: Node) -> None:
        first = self.words.index(node.location)
        word = self.words[first]
        if word in ("current_user", "current_role", "session_user", "user"):
            self._replace(first, first, self._name(self.facts.user, word))
        elif word == "current_catalog":
            self._replace(first, first, self._name(self.facts.database, word))
        elif word == "current_schema":
            self._replace(first, first, self._name(PUBLIC, word))

    def _constant(self, name: str) -> str | None:
        facts = self.facts
        match name:
            case "current_database":
                return self._name(facts.database, name)
            case "current_schema":
                return self._name(PUBLIC, name)
            case "version":
                return self._value_of(f"{literal(facts.version)}::pg_catalog.text", name)
            case "pg_backend_pid":
                return self._value_of(str(facts.pid), name)
            case "pg_client_encoding":
                return self._name(facts.setting("client_encoding"), name)
            case "getdatabaseencoding":
                return self._name("UTF8", name)
            case "pg_is_in_recovery":
                return self._value_of("false", name)
            case "pg_get_userbyid":
                return self._name(facts.owner, name)
        if name in WITHOUT_COUNT:
            return self._value_of("NULL::pg_catalog.int8", name)
        return self._value_of("NULL::pg_catalog.text", name) if name in WITHOUT_TEXT else None

    def _name(self, value: str, name: str) -> str:
        return self._value_of(f"{literal(value)}::pg_catalog.name", quoted(name))

    def _value_of(self, expression: str, name: str) -> str:
        return f"({expression})" if self.facts.is_bare else f"(SELECT {expression} AS {name})"

    def _call(self, call: Node) -> None:
        name = name_of(call)
        text = self._constant(name)
        if text is None and name == "current_setting":
            text = self._setting(call)
        if name == "current_schemas":
            arguments = self.words.between(*self.words.brackets(self.words.index(call.location)))
            both = f"CASE WHEN {arguments} THEN '{{{CATALOG},{PUBLIC}}}' ELSE '{{{PUBLIC}}}' END"
            value = f"({both})::pg_catalog.name[]"
            text = f"({value})" if call.location in self.arrays else self._value_of(value, name)
        if text is not None:
            self._replace_call(call, text)
        elif name == "set_config":
            self._set(call)
        elif name in PRIVILEGES or name == "pg_has_role":
            self._privilege(name, call)

    def _setting(self, call: Node) -> str:
        given = [constant(arg) for arg in call.args]
        if not given or not isinstance(given[0], str) or not all(isinstance(one, bool) for one in given[1:]):
            return self._settings(call)
        try:
            value: str | None = self.facts.setting(given[0])
        except SqlError as error:
            if error.sqlstate != UNDEFINED_OBJECT or given[1:] != [True]:
                raise
            value = None
        return self._value_of(f"{literal(value)}::pg_catalog.text", "current_setting")

    def _set(self, call: Node) -> None:
        given = [self._known(arg) for arg in call.args]
        shown = "shown"
        match given:
            case [None, *_]:
                raise SqlError(NULL_NOT_ALLOWED, "SET requires parameter name", call.location)
            case [str() as setting, (str() | None) as value, (bool() | None) as is_local]:
                shown = literal(self.facts.would_show(setting, value))
                self.facts.sets.append((setting, value, bool(is_local)))
            case _ if self.facts.parameters is not None:
                raise unsupported("set_config of what is not a constant here", call.location, hint="use SET")
        arguments = self.words.between(*self.words.brackets(self.words.index(call.location)))
        values = f"(VALUES ({arguments})) AS given (name, shown, is_local)"
        self._replace_call(call, f"(SELECT {shown}::pg_catalog.text AS set_config FROM {values})")

    def _known(self, node: Node) -> object:
        if node.WhichOneof("node") == "type_cast":
            return self._known(node.type_cast.arg)
        number = node.param_ref.number if node.WhichOneof("node") == "param_ref" else 0
        values = self.facts.parameters or ()
        if 0 < number <= len(values):
            return values[number - 1]
        if node.WhichOneof("node") == "a_const" and node.a_const.isnull:
            return None
        value = constant(node)
        return ... if value is None else value

    def _settings(self, call: Node) -> str:
        """Of a column: looked up among all; PostgreSQL's own function, or a cast, refuses an unknown name."""
        arguments = self.words.between(*self.words.brackets(self.words.index(call.location)))
        rows = literal(json.dumps([{"name": name.lower(), "shown": shown} for name, shown in self.facts.settings()]))
        given = arguments if len(call.args) > 1 else f"{arguments}, false"
        values = f"(VALUES ({given})) AS v(given, is_fine)"
        found = f"pg_catalog.jsonb_to_recordset({rows}::pg_catalog.jsonb) AS s(name text, shown text)"
        other = "pg_catalog.current_setting(v.given, v.is_fine)"
        if self.facts.is_of_rows:
            refusal = f"('{UNRECOGNIZED}' || v.given)::pg_catalog.int4::pg_catalog.text"
            other = f"CASE WHEN NOT v.is_fine THEN {refusal} END"
        is_found = "v.is_fine IS NOT NULL AND s.name = pg_catalog.lower(v.given)"
        own = f"CASE WHEN s.name IS NULL THEN {other} ELSE s.shown END"
        return f"(SELECT {own} AS current_setting FROM {values} LEFT JOIN {found} ON {is_found})"

    def _privilege(self, name: str, call: Node) -> None:
        """At the shadow the user who asks is the owner. A user who may only read has no other right."""
        most = 4 if name == "has_column_privilege" else 3
        people = call.args[:-1] if name == "pg_has_role" else call.args[:1] if len(call.args) == most else ()
        for person in filter(self._is_user, people):
            first = self.words.index(_location(person))
            self._replace(first, first, f"'{OWNER}'::pg_catalog.name")
        if self.facts.may_write or name == "pg_has_role":
            return
        words = constant(call.args[-1]) if call.args else None
        if not isinstance(words, str):
            raise unsupported(f"{name} of what is not a constant", call.location)
        if not any(word.strip().upper() in OF_READERS for word in words.split(",")):
            self._replace_call(call, self._value_of("false", name))

    def _is_user(self, node: Node) -> bool:
        if node.WhichOneof("node") == "sqlvalue_function":
            word = self.words[self.words.index(node.sqlvalue_function.location)]
            return word in ("current_user", "session_user", "user")
        return constant(node) == self.facts.user

    # -- places ----------------------------------------------------------------------------------------------------

    def _replace(self, first: int, last: int, text: str) -> None:
        self.replacements.append(self.words.replacement(first, last, text))

    def _replace_call(self, call: Node, text: str) -> None:
        first = self.words.index(call.location)
        self._replace(first, self.words.brackets(first)[1], text)


def name_of(call: Node) -> str:
    """The name of a function of pg_catalog; empty for another one."""
    parts = [part.string.sval for part in call.funcname]
    return parts[-1] if parts[:-1] in ([], [CATALOG]) else ""


def constant(node: Node) -> str | bool | None:
    """The value of a text or boolean constant, also with a cast; None for anything else."""
    if node.WhichOneof("node") == "type_cast":
        return constant(node.type_cast.arg)
    if node.WhichOneof("node") != "a_const":
        return None
    kind = node.a_const.WhichOneof("val")
    if kind == "sval":
        return str(node.a_const.sval.sval)
    return bool(node.a_const.boolval.boolval) if kind == "boolval" else None


def _location(node: Node) -> int:
    kind = node.WhichOneof("node")
    found = getattr(node, kind)
    return _location(found.arg) if kind == "type_cast" else int(found.location)
