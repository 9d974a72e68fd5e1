"""The glossary: sorted, short, each term once and with a source that exists."""

import re

import pytest

from catalog.text.glossary import FORMS, definitions
from tests.docs.places import ROOT, exists
from tests.docs.test_translations import catalogue
from tests.docs.words import RETIRED, Text, hits_of

PATH = "docs/reference/glossary.md"
ROWS = re.findall(r"^\| (.+?) \| (.+) \| (.+) \|$", (ROOT / PATH).read_text(encoding="utf-8"), re.MULTILINE)[1:]
RULES = set(re.findall(r"\*\*([A-Z]\d+)\*\*", (ROOT / "docs/reference/protocol.md").read_text(encoding="utf-8")))
PAPERS = {"F1", "CockroachDB"}


def test_terms_are_sorted_and_each_is_there_once() -> None:
    terms = [term for term, _, _ in ROWS]
    assert terms == sorted(set(terms), key=lambda term: term.replace("-", " "))


@pytest.mark.parametrize(("term", "meaning", "source"), ROWS, ids=[row[0] for row in ROWS])
def test_a_term_has_two_sentences_at_most_and_a_source(term: str, meaning: str, source: str) -> None:
    assert meaning.endswith(".")
    assert len(re.findall(r"\.(?= |$)", meaning)) <= 2
    for part in source.split(", "):
        is_rule = part in RULES or part in PAPERS or re.fullmatch(r"§[1-9]", part)
        is_place = part.startswith("[") or exists(part.strip("`"), PATH)
        assert is_rule or is_place, part
    assert [hit for row in RETIRED for hit in hits_of(PATH, Text("text", 1, term), row)] == []


@pytest.mark.parametrize("term", FORMS)
def test_a_word_that_pages_explain_is_in_it_and_both_languages_have_it(term: str) -> None:
    """Its definition is that of the page, and so is the text of which the other language has a translation."""
    meaning = definitions((ROOT / PATH).read_text(encoding="utf-8"))[term]
    assert (term, meaning) in {(row[0], row[1]) for row in ROWS}
    assert FORMS[term].split("|")[0] == term
    assert "`" not in meaning
    assert "[" not in meaning
    assert catalogue()[meaning]
    assert catalogue()[FORMS[term]]
