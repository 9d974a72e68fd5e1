"""Lines that several places of the lab's cluster print."""

from collections.abc import Iterable, Mapping, Sequence

from catalog.descriptor import Descriptor
from catalog.text.sentence import Sentence
from leases.node.vocabulary import Renewal

RENEWALS: Mapping[Renewal, str] = {Renewal.RENEWED: "{node}: renewed {what}", Renewal.SKIPPED: "{node}: skipped {what}"}


def versioned(table: str, version: int) -> Sentence:
    """A version of a table: `users@2`."""
    return Sentence("{table}@{version}", table=table, version=version)


def version_of(descriptor: Descriptor) -> Sentence:
    return versioned(descriptor.name, descriptor.version)


def names_of(descriptors: Iterable[Descriptor]) -> Sentence:
    return listed([version_of(one) for one in descriptors])


def listed(lines: Sequence[Sentence]) -> Sentence:
    return _joined(lines, "{first}, {rest}")


def clauses(lines: Sequence[Sentence]) -> Sentence:
    return _joined(lines, "{first}; {rest}")


def _joined(lines: Sequence[Sentence], link: str) -> Sentence:
    first, *rest = lines
    return Sentence(link, first=first, rest=_joined(rest, link)) if rest else first


def words_of(error: Exception) -> str:
    message = error.args[0] if error.args else None
    return message if isinstance(message, Sentence) else str(error)
