"""Words of the glossary in a text: linked where they stand first, and nowhere else."""

import pytest

from catalog.text.glossary import FORMS, linked


def marked(html: str, only: tuple[str, ...] = ()) -> str:
    return linked(html, FORMS, lambda term, shown: f"[{term}:{shown}]", only)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        pytest.param("<p>n1 takes a lease.</p>", "<p>n1 takes a [lease:lease].</p>", id="a word"),
        pytest.param("Leases, and a lease", "[lease:Leases], and a lease", id="where it stands first, in any form"),
        pytest.param("released, write-onlyness", "released, write-onlyness", id="not a part of another word"),
        pytest.param("is write-only in v3", "is [write-only:write-only] in v3", id="with a hyphen"),
        pytest.param("<a>lease</a> <b>lease</b>", "<a>lease</a> <b>[lease:lease]</b>", id="not within a link"),
        pytest.param("<code>a <b>pair</b></code> pair", "<code>a <b>pair</b></code> [pair:pair]", id="nor in code"),
        pytest.param('<i title="lease">x</i>', '<i title="lease">x</i>', id="nor in a tag"),
        pytest.param("the row is absent", "the row is absent", id="nor a word in its plain meaning"),
        pytest.param("pairs &amp; versions", "[pair:pairs] &amp; [version:versions]", id="beside what is escaped"),
    ],
)
def test_words_are_linked(html: str, expected: str) -> None:
    assert marked(html) == expected


def test_a_page_may_say_which() -> None:
    assert marked("a lease of an absent version", ("absent",)) == "a lease of an [absent:absent] version"


def test_chinese_has_no_gaps_between_words() -> None:
    forms = {"lease": f"租约|{FORMS['lease']}", "version": f"版本|{FORMS['version']}"}
    html = linked("节点持有租约才能使用某个版本", forms, lambda term, shown: f"[{term}:{shown}]")
    assert html == "节点持有[lease:租约]才能使用某个[version:版本]"
