"""Pages are as many pairs as have some megabytes, whatever their values are."""

import pytest

from storage.page_sizes import PAGE_BYTES, PAIRS_MIN, PageSize, runs

MB = 2**20


@pytest.mark.parametrize(("pairs", "size", "then"), [
    pytest.param(10_000, 10_000 * 40, 20_000, id="small ones: as many as there may be"),
    pytest.param(10_000, 10_000 * 1024, PAGE_BYTES // 1024, id="larger ones: as many as have 8 MB"),
    pytest.param(100, 100 * MB, PAIRS_MIN, id="the largest: some rows' worth"),
    pytest.param(0, 0, 0, id="none"),
])  # fmt: skip
def test_a_page_is_as_large_as_the_one_before_suggests(pairs: int, size: int, then: int) -> None:
    page = PageSize(10_000, 20_000)
    page.learn(pairs, size)
    assert page.pairs == max(then, PAIRS_MIN)
    assert page.pairs * page.longest <= 2 * PAGE_BYTES, "and never much larger, whatever comes"


@pytest.mark.parametrize(("sizes", "cut"), [
    pytest.param([], [], id="nothing"),
    pytest.param([100, 200], [2], id="a page that is not too large"),
    pytest.param([MB] * 20, [8, 8, 4], id="even ones"),
    pytest.param([10, 20 * MB, 10, 10], [1, 1, 2], id="one that is too large by itself"),
    pytest.param([5 * MB, 5 * MB, 1], [1, 2], id="as many as fit"),
])  # fmt: skip
def test_a_page_that_is_too_large_is_cut_into_runs(sizes: list[int], cut: list[int]) -> None:
    found = list(runs(sizes))
    assert [run.stop - run.start for run in found] == cut
    assert [size for run in found for size in sizes[run]] == sizes
