"""The settings of a session: which values they take, what SHOW answers, what a transaction does to them."""

import pytest

from expressions.errors import SqlError
from nodes.settings.known import KNOWN
from nodes.settings.variables import CHARS_MAX, CUSTOM_MAX, NAME_CHARS_MAX, Variables


def changed(name: str, value: str) -> str:
    variables = Variables()
    variables.set(name, value)
    return variables.get(name)


def refused(name: str, value: str) -> SqlError:
    with pytest.raises(SqlError) as caught:
        Variables().set(name, value)
    return caught.value


@pytest.mark.parametrize("name", ["UTF8", "utf-8", "UTF_8", "UNICODE", "'utf-8'", "Utf8"])
def test_every_name_of_utf8_is_one(name: str) -> None:
    assert changed("client_encoding", name) == "UTF8"


@pytest.mark.parametrize(("name", "value", "shown"), [
    pytest.param("statement_timeout", "0", "0", id="no limit"),
    pytest.param("statement_timeout", "250", "250ms", id="a number counts in the setting's unit"),
    pytest.param("statement_timeout", "3 s", "3s", id="or in one of its own"),
    pytest.param("statement_timeout", "1.5s", "1500ms", id="with a fraction"),
    pytest.param("statement_timeout", "24d", "24d", id="shown in the largest that fits"),
    pytest.param("work_mem", "8192", "8MB", id="memory"),
    pytest.param("temp_buffers", "100", "800kB", id="memory in blocks"),
    pytest.param("jit", "of", "off", id="the beginning of a word"),
    pytest.param("synchronous_commit", "yes", "on", id="a choice that has on and off"),
    pytest.param("random_page_cost", "1.10", "1.1", id="a real number"),
    pytest.param("DateStyle", "german_wrong, dmy", None, id="no style"),
    pytest.param("datestyle", "dmy", "ISO, DMY", id="the order of day and month"),
    pytest.param("timezone", "europe/berlin", "Europe/Berlin", id="a zone by any case"),
    pytest.param("timezone", "-7", "<-07>+07", id="hours east of UTC"),
    pytest.param("timezone", "5.5", "<+05:30>-05:30", id="and a half"),
    pytest.param("timezone", "GMT-3", "GMT-3", id="POSIX's form"),
    pytest.param("timezone", "Mars/Phobos", None, id="no zone"),
    pytest.param("default_transaction_isolation", "read committed", "serializable", id="every level is serializable"),
    pytest.param("application_name", "ä", "ä", id="any text"),
    pytest.param("my.user_id", "42", "42", id="a name of two parts"),
    pytest.param("a.b.c", "x", "x", id="or more"),
])  # fmt: skip
def test_values(name: str, value: str, shown: str | None) -> None:
    if shown is None:
        assert refused(name, value).sqlstate == "22023"
    else:
        assert changed(name, value) == shown


@pytest.mark.parametrize("value", ["²", "٣", "-1", "", "1 parsec", "9" * 5000, "2147483648", "25d", "1e400"])
def test_a_time_that_is_none_is_refused(value: str) -> None:
    assert refused("statement_timeout", value).sqlstate == "22023"


@pytest.mark.parametrize(("name", "value", "sqlstate", "words"), [
    pytest.param("nothing", "1", "42704", 'unrecognized configuration parameter "nothing"', id="unknown"),
    pytest.param("server_version", "9", "55P02", 'parameter "server_version" cannot be changed', id="a fact"),
    pytest.param("log_statement", "all", "42501", 'permission denied to set parameter "log_statement"', id="no right"),
    pytest.param("jit", "o", "22023", 'parameter "jit" requires a Boolean value', id="on or off?"),
    pytest.param("xmloption", "x", "22023", 'invalid value for parameter "xmloption": "x"', id="no choice"),
    pytest.param("work_mem", "1", "22023", '1 kB is outside the valid range for parameter "work_mem"', id="too small"),
    pytest.param("client_encoding", "foo", "22023", "invalid value", id="no encoding"),
    pytest.param("client_encoding", "LATIN1", "0A000", "a node speaks UTF-8", id="another encoding"),
    pytest.param("DateStyle", "SQL, MDY", "0A000", "in the style ISO", id="another style"),
    pytest.param("IntervalStyle", "iso", "22023", "invalid value for parameter", id="no style of intervals"),
    pytest.param("search_path", "private", "0A000", "all tables are in public", id="another schema"),
    pytest.param("extra_float_digits", "0", "0A000", "all digits", id="fewer digits"),
    pytest.param("schemalab.version", "1", "42602", "invalid configuration parameter name", id="a name of ours"),
    pytest.param("a-b.c", "1", "42602", "invalid configuration parameter name", id="no name"),
    pytest.param("role", "admin", "42501", "permission denied to set role", id="somebody else"),
])  # fmt: skip
def test_what_cannot_be_is_refused_as_postgresql_does(name: str, value: str, sqlstate: str, words: str) -> None:
    error = refused(name, value)
    assert (error.sqlstate, words in error.message) == (sqlstate, True), error.message


def test_what_a_session_keeps_is_bounded() -> None:
    variables = Variables()
    variables.set("my.long", "x" * (CHARS_MAX - 100))
    with pytest.raises(SqlError, match="at most"):
        variables.set("my.more", "x" * 200)
    variables.reset_all()
    for number in range(CUSTOM_MAX - 1):
        variables.set(f"my.v{number}", "")
    with pytest.raises(SqlError, match="settings of its own"):
        variables.set("your.v", "")


def test_names_are_bounded_and_kept_once_they_have_a_value() -> None:
    variables = Variables()
    with pytest.raises(SqlError, match="at most") as caught:
        variables.set("my." + "x" * NAME_CHARS_MAX, "1")
    assert caught.value.sqlstate == "42602"
    with pytest.raises(SqlError, match="at most"):
        variables.set("my.large", "x" * (CHARS_MAX + 1))
    with pytest.raises(SqlError, match="unrecognized"):
        variables.get("my.large")


def test_what_savepoints_keep_is_bounded_and_goes_with_them() -> None:
    variables = Variables()

    def one_more(number: int) -> None:
        variables.mark(number)
        variables.set("my.x", f"{number:08d}" * 64_000)

    for number in range(1, 10):
        one_more(number)
    with pytest.raises(SqlError, match="savepoints") as caught:
        one_more(10)
    assert caught.value.sqlstate == "54000"
    variables.release(5)
    one_more(11)
    variables.return_to(3)
    assert variables.get("my.x") == "00000002" * 64_000
    for number in range(12, 17):
        one_more(number)
    variables.release(1)
    for number in range(20, 2000):
        one_more(number)
        variables.release(number)
    variables.end(committed=True)
    one_more(1)


def test_what_the_client_chose_is_told_from_what_the_node_gives_everybody() -> None:
    variables = Variables()
    variables.begin_with({"statement_timeout": "3000"})
    assert not variables.is_changed("statement_timeout")
    variables.start_with("statement_timeout", "5s")
    assert variables.is_changed("statement_timeout")
    variables.set("statement_timeout", "3s")
    assert not variables.is_changed("statement_timeout")


def test_every_setting_is_shown_and_has_a_value_of_its_kind() -> None:
    variables = Variables()
    shown = {name: description for name, _, description in variables.all()}
    assert all(shown[s.name] for s in KNOWN.values() if s.name in shown and s.name != "schemalab.node")
    for setting in KNOWN.values():
        if setting.context == "user":
            variables.set(setting.name, variables.get(setting.name))
            assert variables.get(setting.name) == Variables().get(setting.name), setting.name


def test_a_block_that_is_committed_so_far_keeps_what_is_local_to_it_until_it_ends() -> None:
    for committed in (True, False):
        variables = Variables()
        variables.set("statement_timeout", "3s")
        variables.set("lock_timeout", "5s", is_local=True)
        variables.set("transaction_read_only", "off", is_local=True)
        variables.set("default_transaction_read_only", "on")
        variables.mark(1)
        variables.commit_so_far()
        assert not variables.is_read_only
        assert (variables.get("statement_timeout"), variables.get("lock_timeout")) == ("3s", "5s")
        variables.set("statement_timeout", "4s")
        variables.end(committed=committed)
        assert variables.is_read_only
        expected = "4s" if committed else "3s"
        assert (variables.get("statement_timeout"), variables.get("lock_timeout")) == (expected, "0")
