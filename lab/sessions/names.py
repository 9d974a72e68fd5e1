"""Names of a user's own schema for the things of a model: they change nothing but words.

{"words": {"t": "flights", "a": "dest", "by_a": "flights_by_dest"}, "values": ["'ORD'", "'LHR'"], "versions": 4}
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from catalog.text.message import Text
from catalog.text.numbers import whole_number
from lab.explorer.plans.small_tables import INDEX_NAMES, LINK_NAME, NAMES, OWN_LINK
from lab.sessions.session import BadSession
from lab.sessions.shown import Cluster, Node, SessionView

TABLE, KEY, COLUMN, PARENT_KEY = "t", "id", "a", "parent.id"
CHILD_TABLE, PARENT_TABLE = NAMES
NODES = ("n1", "n2", "n3")
OF_SCHEMAS = (TABLE, KEY, COLUMN, PARENT_KEY, *NAMES, *INDEX_NAMES.values(), LINK_NAME, OWN_LINK.name)
NAMED = frozenset({*NODES, *OF_SCHEMAS, "a_not_null", "a_is_11"})
"""All that a name can be given to; the key of a parent is `parent.id`."""

WORD_CHARACTERS_MAX, VALUES_MAX = 150, 4
OF_VALUES = frozenset({"value", "parent"})
"""The names in a text under which a value of the column stands, or the parent that it refers to."""

VERSIONS_MAX = 10**9
OF_VERSIONS = frozenset({"version", "fence", "newest"})
IN_A_TEMPLATE = re.compile(r"\bv\{(\w+)\}")
"""The names in a text under which the number of a version stands: these, and all of which the template says so."""

A_VERSION = re.compile(r"(v?)(\d+)")
AT_A_VERSION = re.compile(rf"\b({'|'.join((TABLE, *NAMES))})@(\d+)")
T = TypeVar("T")


@dataclass(frozen=True)
class Names:
    """The words for a model's names and for its values 1, 2, ..; `versions` is added to each version's number."""

    words: Mapping[str, str] = field(default_factory=dict)
    values: tuple[str, ...] = ()
    versions: int = 0

    def word(self, name: str) -> str:
        """A twin is named after its column, a table's version after the table."""
        if name in self.words:
            return self.words[name]
        if name.startswith(f"{COLUMN} ("):
            return self.word(COLUMN) + name.removeprefix(COLUMN)
        return AT_A_VERSION.sub(
            lambda found: f"{self.words.get(found[1], found[1])}@{self.version(int(found[2]))}", name
        )

    def value(self, number: str) -> str:
        """The word for a value, by its number; NULL stays."""
        position = whole_number(number, digits_max=9)
        return self.values[position - 1] if position and position <= len(self.values) else number

    def text(self, text: Text) -> Text:
        values = {name: self._of(name, value) for name, value in text.values.items()}
        if self.versions:
            named = OF_VERSIONS.union(IN_A_TEMPLATE.findall(text.template))
            values |= {name: self._number(value) for name, value in values.items() if name in named}
        return Text(text.template, values)

    def _number(self, value: str | int | Text) -> str | int | Text:
        found = None if isinstance(value, Text) else A_VERSION.fullmatch(str(value))
        return value if found is None else f"{found[1]}{self.version(int(found[2]))}"

    def version(self, number: int) -> int:
        return number + self.versions

    def _of(self, name: str, value: str | int | Text) -> str | int | Text:
        if isinstance(value, Text):
            return self.text(value)
        if name in OF_VALUES and str(value).isdigit():
            return self.value(str(value))
        return self.word(value) if isinstance(value, str) else value

    def texts_in(self, value: T) -> T:
        """The same value with these names in all its texts, at any depth of tuples and dataclasses."""
        if not self.words and not self.values and not self.versions:
            return value
        return cast(T, self._renamed(value))

    def _renamed(self, value: Any) -> Any:
        if isinstance(value, Text):
            return self.text(value) if value.values else value
        if isinstance(value, tuple):
            renamed = map(self._renamed, value)
            return value._make(renamed) if hasattr(value, "_make") else tuple(renamed)
        if is_dataclass(value) and not isinstance(value, type):
            found = {one.name: getattr(value, one.name) for one in fields(value)}
            deep = {name: one for name, one in found.items() if isinstance(one, tuple) or is_dataclass(one)}
            new = {name: self._renamed(one) for name, one in deep.items()}
            return replace(value, **new)
        return value

    def shown(self, shown: SessionView) -> SessionView:
        shown = self.texts_in(shown)
        if not self.versions and not self.words:
            return shown
        return replace(
            shown,
            actors=tuple(map(self.word, shown.actors)),
            offers=tuple(replace(one, actor=self.word(one.actor)) for one in shown.offers),
            cluster=self._cluster(shown.cluster),
            verdicts=tuple(replace(one, version=self.version(one.version)) for one in shown.verdicts),
            probe=tuple(replace(one, version=self.version(one.version)) for one in shown.probe),
            trace=tuple(replace(one, actor=self.word(one.actor), to=self.word(one.to)) for one in shown.trace),
        )

    def _cluster(self, cluster: Cluster) -> Cluster:
        return replace(
            cluster,
            versions=tuple(replace(one, number=self.version(one.number)) for one in cluster.versions),
            nodes=tuple(map(self._node, cluster.nodes)),
            pairs=tuple(replace(one, unseen_by=tuple(map(self.version, one.unseen_by))) for one in cluster.pairs),
            messages=tuple(
                replace(one, sender=self.word(one.sender), receiver=self.word(one.receiver)) for one in cluster.messages
            ),
        )

    def _node(self, node: Node) -> Node:
        leases = tuple(replace(one, version=self.version(one.version)) for one in node.leases)
        transactions = tuple(
            replace(one, versions={table: self.version(used) for table, used in one.versions.items()})
            for one in node.transactions
        )
        return replace(node, name=self.word(node.name), leases=leases, transactions=transactions)

    def to_json(self) -> str:
        body: dict[str, Any] = {"words": dict(self.words), "values": list(self.values)}
        body |= {"versions": self.versions} if self.versions else {}
        return json.dumps(body, separators=(",", ":"), ensure_ascii=False)


MODEL_NAMES = Names()


def names_in(parameter: str) -> Names:
    if not parameter:
        return MODEL_NAMES
    try:
        body = json.loads(parameter)
    except (ValueError, RecursionError) as error:
        raise BadSession("the names are no JSON") from error
    if not isinstance(body, dict) or set(body) - {"words", "values", "versions"}:
        raise BadSession("names are words, values and versions")
    words, values, versions = body.get("words", {}), body.get("values", []), body.get("versions", 0)
    if type(versions) is not int or not -1 <= versions <= VERSIONS_MAX:
        raise BadSession(f"versions is the number that is added to each: -1 to {VERSIONS_MAX}")
    if not isinstance(words, dict) or not isinstance(values, list) or len(values) > VALUES_MAX:
        raise BadSession(f"words are a mapping, values a list of at most {VALUES_MAX}")
    unknown = sorted(set(words) - NAMED)
    if unknown:
        raise BadSession(f"{unknown[0][:40]} can have no name; {', '.join(sorted(NAMED))} can")
    for word in [*words.values(), *values]:
        if not isinstance(word, str) or not 0 < len(word) <= WORD_CHARACTERS_MAX or not word.isprintable():
            raise BadSession(f"a name is 1 to {WORD_CHARACTERS_MAX} printable characters: {word!r:.40} is not")
    return Names(words, tuple(values), versions)
