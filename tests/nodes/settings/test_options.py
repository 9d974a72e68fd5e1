"""Settings in the startup parameter `options`."""

import pytest

from expressions.errors import FatalError
from nodes.settings.options import options_of


@pytest.mark.parametrize(("text", "found"), [
    pytest.param("", {}, id="none"),
    pytest.param("-c jit=off", {"jit": "off"}, id="one"),
    pytest.param("-cjit=off  --work-mem=1MB", {"jit": "off", "work_mem": "1MB"}, id="no blank, and the long form"),
    pytest.param(r"-c search_path=public,\ a", {"search_path": "public, a"}, id="an escaped blank"),
    pytest.param(r"-c my.x=\\", {"my.x": "\\"}, id="an escaped backslash"),
    pytest.param("-c my.x=", {"my.x": ""}, id="an empty value"),
    pytest.param("-c my.x=a=b -c my.x=c", {"my.x": "c"}, id="the last one counts"),
])  # fmt: skip
def test_options(text: str, found: dict[str, str]) -> None:
    assert options_of({"options": text}) == found


@pytest.mark.parametrize("text", ["-x", "jit=off", "-c", "-c jit", "--jit", "-"])
def test_others_end_the_connection(text: str) -> None:
    with pytest.raises(FatalError) as caught:
        options_of({"options": text})
    assert caught.value.sqlstate == "42601"
