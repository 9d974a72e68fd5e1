"""Messages are values where they arise: no regular expression reads a sentence of ours back. Every pattern of the
product is tried on every message of the catalogue, with words in the place of its values."""

import ast
import re
from collections.abc import Iterator

from tests.docs.places import kept, tree
from tests.docs.test_translations import marked

LETTERS_MIN = 12
"""Of a pattern outside its groups: a shorter one reads names, numbers or forms, and no sentence."""
READS = frozenset({"compile", "fullmatch", "match", "search", "sub", "subn", "split", "findall", "finditer"})


def patterns(module: ast.Module) -> Iterator[str]:
    """Literals that are regular expressions: the first argument of a function of `re`, or one with a named group."""
    for node in ast.walk(module):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in READS
            and node.args
        ):
            yield from literal(node.args[0])
        if isinstance(node, ast.Tuple) and node.elts:
            yield from (text for text in literal(node.elts[0]) if "(?P<" in text)


def literal(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    if isinstance(node, ast.JoinedStr):
        yield "".join(str(one.value) if isinstance(one, ast.Constant) else r"(?:.+)" for one in node.values)


def sentences() -> list[str]:
    """Messages of more than one word, with something in the place of each value."""
    return [re.sub(r"\{\w+\}", "n1", text) for text in marked() if " " in text and "%" not in text]


def read_back() -> dict[str, list[str]]:
    """Modules whose patterns match a message, and the patterns."""
    messages, found = sentences(), dict[str, list[str]]()
    for path in kept():
        if not path.endswith(".py") or path.startswith(("tests/", "tools/")):
            continue
        for pattern in set(patterns(tree(path))):
            words = re.sub(r"\\.|\(\?P<\w+>|[^A-Za-z ]", "", pattern)
            if len(words.replace(" ", "")) < LETTERS_MIN or " " not in words.strip():
                continue
            try:
                reads = re.compile(pattern)
            except re.error:
                continue
            if any(reads.fullmatch(message) for message in messages):
                found.setdefault(path, []).append(pattern)
    return found


def test_no_pattern_reads_a_message_back() -> None:
    assert len(sentences()) > 1000
    assert read_back() == {}


def test_a_pattern_that_reads_a_message_is_found() -> None:
    source = 'import re\nfound = re.fullmatch(r"step (?P<at>.+): (?P<element>.+) comes before a column that .+", why)'
    [pattern] = patterns(ast.parse(source))
    assert any(re.fullmatch(pattern, message) for message in sentences())
    assert list(patterns(ast.parse('PATTERNS = ((r"the order must be (?P<order>.+)", Text("..")),)'))) == [
        "the order must be (?P<order>.+)"
    ]
