"""A line of a script, a log or an SQL error: English, with the template and the values that it was made of.

    Sentence("{node} leases v{version}", node="n1", version=2)     == "n1 leases v2"

A line is a string, so that whoever only prints it needs to know nothing of this. A page words it in its reader's
language by its template and its values (`catalog.text.message.Text`), and never reads the English back.
"""

from collections.abc import Callable, Mapping
from typing import Self

from catalog.text.message import Text


class Sentence(str):
    """A sentence by its template and its values; a value may be a line itself.

    >>> Sentence("{node} leases v{version}", node="n1", version=2).values["version"]
    2
    """

    __slots__ = ("template", "values")
    template: str
    values: Mapping[str, object]

    def __new__(cls, template: str, /, **values: object) -> Self:
        sentence = super().__new__(cls, template.format_map(values))
        sentence.template, sentence.values = template, values
        return sentence

    def __reduce__(self) -> tuple[object, ...]:
        return _sentence, (self.template, self.values)


def sentence_of(text: Text) -> Sentence:
    """The line in English of a text."""
    values = {name: sentence_of(one) if isinstance(one, Text) else one for name, one in text.values.items()}
    return Sentence(text.template, **values)


def in_other_words(line: object, translate: Callable[[str], str]) -> str:
    """A line in the language of `translate`, with the lines in it; what is no sentence stays as it is."""
    if not isinstance(line, Sentence):
        return str(line)
    values = {
        name: in_other_words(one, translate) if isinstance(one, str) else one for name, one in line.values.items()
    }
    return translate(line.template).format_map(values)


def _sentence(template: str, values: Mapping[str, object]) -> Sentence:
    return Sentence(template, **values)
