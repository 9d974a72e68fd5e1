"""Documents: what is one, the form of a jsonb, its order, and the limits of its depth."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.values.documents import (
    DEPTH_MAX,
    Jsonb,
    TooDeep,
    TooLongNumbers,
    canonical,
    check,
    key_of,
    parsed,
    written,
)
from catalog.values.errors import BadValue

CHARACTERS = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
"""Half a pair of surrogates is no character: what has one is refused."""
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.text(CHARACTERS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.sampled_from('a"\\éz')), inner, max_size=4),
    max_leaves=12,
)


@given(DOCUMENTS)
def test_the_one_form_is_read_as_the_same_document(document: object) -> None:
    for text in (json.dumps(document), json.dumps(document, ensure_ascii=False, indent=1)):
        form = canonical(text)
        assert json.loads(form) == document
        assert canonical(form) == form
        assert str(written(parsed(text))) == str(form)


@given(DOCUMENTS, DOCUMENTS)
def test_documents_that_are_equal_have_one_key(one: object, other: object) -> None:
    left, right = (canonical(json.dumps(document)) for document in (one, other))
    assert (left == right) == (str(left) == str(right)) == (left.key == right.key)
    assert (left < right) == (key_of(parsed(left)) < key_of(parsed(right)))


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ('{"b":1, "aa":2.50, "b":1e2}', '{"b": 100, "aa": 2.50}'),
        ('{"ab":1, "é":2, "zz":3}', '{"ab": 1, "zz": 3, "é": 2}'),
        ("[-0, -0.0, 1E-3, 0.10, 12345678901234567890]", "[0, 0.0, 0.001, 0.10, 12345678901234567890]"),
        (r'"\u0041\/\ud83d\ude00\u001f\\u0000"', r'"A/😀\u001f\\u0000"'),
        (r'["\\\\u0000", 1.5]', r'["\\\\u0000", 1.5]'),
    ],
)
def test_the_form_of_a_jsonb(text: str, form: str) -> None:
    assert str(canonical(text)) == form


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("", "The input string ended unexpectedly."),
        ('{"a"', "The input string ended unexpectedly."),
        ("[1,]", 'Token "]" is invalid.'),
        ("nulls", 'Token "nulls" is invalid.'),
        ("{\"a\": 'b'}", 'Token "\'" is invalid.'),
        ("NaN", 'Token "NaN" is invalid.'),
    ],
)
def test_a_text_that_is_none_is_refused_with_its_place(text: str, detail: str) -> None:
    for read in (check, canonical):
        with pytest.raises(BadValue) as refusal:
            read(text)
        assert (str(refusal.value), refusal.value.detail) == ("invalid input syntax for type json", detail)


@pytest.mark.parametrize("text", [r'"\u0000"', r'{"a\u0000": 1}', r'"\\\u0000"', r'"\ud800"', r'"\ud800\ud800\udc00"'])
def test_what_no_text_can_hold_is_a_json_and_no_jsonb(text: str) -> None:
    check(text)
    with pytest.raises(BadValue):
        canonical(text)


@pytest.mark.parametrize(("start", "end"), [("[", "]"), ('{"a":', "}")])
def test_depth_has_a_limit(start: str, end: str) -> None:
    deep = start * DEPTH_MAX + "1" + end * DEPTH_MAX
    assert Jsonb(canonical(deep)).key
    for text in (f"[{deep}]", start * 10**6, start * 500_000 + end * 500_000):
        with pytest.raises(TooDeep):
            canonical(text)
        with pytest.raises(TooDeep):
            check(text)
    wide = json.dumps(["[" * 9] * DEPTH_MAX)
    assert canonical(wide) == wide


@pytest.mark.parametrize("number", ["1e-16383", "1e19999", "-1.5E-16000"])
def test_a_short_text_may_not_mean_a_long_document(number: str) -> None:
    text = f"[{','.join([number] * 1000)}]"
    check(text)
    with pytest.raises(TooLongNumbers):
        canonical(text)
    assert len(canonical(f"[{','.join([number] * 20)}]")) > 300_000


def test_a_document_that_was_made_of_others_can_be_read_again() -> None:
    deep = canonical("[" * DEPTH_MAX + "]" * DEPTH_MAX)
    with pytest.raises(TooDeep):
        written([parsed(deep)])
