"""Tools that people use, beside ours: what is installed, and what the page says of their rounds."""

from pathlib import Path

from tests.peers import installed
from tests.peers.page import NOT_YET, write_page
from tests.peers.rounds import Beside, Result
from tests.peers.tools import INDEX, TYPE

SIMULATED = """Reading package lists...
The following NEW packages will be installed:
  libdbi-perl mariadb-server
Inst libdbi-perl (1.643-4 Debian:12.10/stable [amd64])
Inst mariadb-server (1:10.11.19 Debian-Security:12/stable-security [amd64])
Conf libdbi-perl (1.643-4 Debian:12.10/stable [amd64])
"""


def test_what_apt_would_install_is_downloaded() -> None:
    assert installed.needed(SIMULATED) == ["libdbi-perl", "mariadb-server"]


def test_the_page_has_a_line_for_each_tool_and_all_its_rounds(tmp_path: Path) -> None:
    beside = Beside(9.04, 700.4, 21.0, 12.0, 8.0, 118.0, 129.7, 0)
    failing = Beside(10.0, 30.0, 21.0, 12.0, 8.0, 118.0, 129.7, 2)
    results = [
        Result("pt-online-schema-change", INDEX, "`ADD INDEX`", "a count", (8.81, 8.96), (beside, failing)),
        Result("PostgreSQL, ranged UPDATE", TYPE, "a trigger", "nothing", (4.0,), (beside,)),
    ]
    text = write_page("2 cores", 1_000_000, ["mariadbd 10.11"], results, tmp_path / "page.md").read_text()
    index, kind = text.index("## An index of one column"), text.index("## Another type of a column")
    assert "Machine: 2 cores. 1,000,000 rows. mariadbd 10.11." in text[:index]
    line = "| pt-online-schema-change: `ADD INDEX` | 8.8, 9.0 s | 9.0, 10.0 s | 700 against 21, 30 against 21 ms |"
    assert line in text[index:kind]
    assert "118 of 130, 118 of 130; 2 errors | a count |" in text[index:kind]
    assert "ranged UPDATE" in text[kind:]
    assert NOT_YET not in text


def test_a_page_without_figures_says_so(tmp_path: Path) -> None:
    text = write_page("2 cores", 10, [], [], tmp_path / "page.md").read_text()
    assert NOT_YET in text
    assert "## What is not comparable" in text
