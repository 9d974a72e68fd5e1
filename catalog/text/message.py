"""Sentences as values: an English template and its values; English and Chinese are two renderings. Templates are
literals: a test finds them and their translations."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from catalog.elements import Kind, State

Values = dict[str, "str | int | Text"]
"""The values of a text's names."""


@dataclass(frozen=True, slots=True)
class Text:
    """A sentence: `template` in English with `{names}`, and their values: words, numbers, or texts. `Text("{node}
    leases {version}", {"node": "n1", "version": "v2"})` reads "n1 leases v2"."""

    template: str
    values: Mapping[str, "str | int | Text"] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.template)

    def __str__(self) -> str:
        return self.template.format_map({name: str(value) for name, value in self.values.items()})


NOTHING = Text("")


def to_json(text: Text) -> list[Any]:
    return [text.template, {name: to_json(one) if isinstance(one, Text) else one for name, one in text.values.items()}]


def from_json(body: Any) -> Text:
    template, values = body
    inner = {name: from_json(one) if isinstance(one, list) else one for name, one in values.items()}
    return replace(NOTHING, template=template, values=inner)  # the template was a literal where it was written


def listed(parts: Sequence[Text]) -> Text:
    return _chained(parts, lambda two: Text("{first}, {rest}", two))


def names_listed(words: Iterable[object]) -> Text:
    parts = [Text("{name}", {"name": str(word)}) for word in words]
    return _chained(parts, lambda two: Text("{first}, {names}", {"first": two["first"], "names": two["rest"]}))


def joined(parts: Sequence[Text]) -> Text:
    return _chained(parts, lambda two: Text("{first} and {rest}", two))


def clauses(parts: Sequence[Text]) -> Text:
    return _chained(parts, lambda two: Text("{first}; {rest}", two))


def added(parts: Sequence[Text]) -> Text:
    return _chained(parts, lambda two: Text("{first} + {rest}", two))


def followed(parts: Sequence[Text]) -> Text:
    return _chained(parts, lambda two: Text("{first} -> {rest}", two))


def beside(parts: Sequence[Text]) -> Text:
    return _chained(parts, lambda two: Text("{first} beside {rest}", two))


def _chained(parts: Sequence[Text], link: Callable[[Values], Text]) -> Text:
    if not parts:
        return NOTHING
    first, *rest = parts
    return link({"first": first, "rest": _chained(rest, link)}) if rest else first


STATES: Mapping[State, Text] = {
    State.ABSENT: Text("absent"),
    State.DELETE_ONLY: Text("delete-only"),
    State.WRITE_ONLY: Text("write-only"),
    State.PUBLIC: Text("public"),
}
KINDS: Mapping[str, tuple[Text, Text]] = {
    "table": (Text("table"), Text("table {name}")),
    "column": (Text("column"), Text("column {name}")),
    "index": (Text("index"), Text("index {name}")),
    "unique index": (Text("unique index"), Text("unique index {name}")),
    "constraint": (Text("constraint"), Text("constraint {name}")),
    "foreign key": (Text("foreign key"), Text("foreign key {name}")),
    "placement": (Text("placement"), Text("placement {name}")),
}
"""Each kind of element in words: alone, and with a name."""


def kind_text(kind: Kind) -> Text:
    return KINDS["column" if kind.is_column else kind.value][0]


def named_element(what: str, name: object) -> Text:
    return Text(KINDS[what][1].template, {"name": str(name)})
