"""Names of nodes that are jobs, as pages show them."""

import pytest
from django.utils import translation

from catalog.story import sentence
from catalog.templatetags.glossary import node_link
from catalog.text.job_nodes import is_job, loader_name, repairer_name


@pytest.mark.parametrize(
    ("node", "is_of_job", "english", "chinese"),
    [
        pytest.param(loader_name(4, 0), True, "loader 4-0", "加载进程 4-0", id="a worker of a load"),
        pytest.param(repairer_name(7), True, "repairer 7", "修补进程 7", id="a repair"),
        pytest.param("n1", False, "n1", "n1", id="a node"),
        pytest.param("load-balancer", False, "load-balancer", "load-balancer", id="a node that is named so"),
    ],
)
def test_a_job_is_named_as_what_it_is(node: str, is_of_job: bool, english: str, chinese: str) -> None:
    assert is_job(node) is is_of_job
    waits = {"table": "flights", "version": 3, "whom": f"n3, {node}", "until": "12:00:00"}
    for language, shown in (("en", english), ("zh-hans", chinese)):
        with translation.override(language):
            link = node_link(node)
            assert shown in link
            assert ("data-meaning=" in link) is is_of_job, "pointed at, it says what a loader is"
            assert shown in sentence("version waiting", waits, translation.gettext)
