"""A pattern whose reads have a rate and whose writes a bandwidth."""

import pytest

from stithy.errors import UserError
from stithy.fio import library
from stithy.fio.variants import mix_pattern

MATRIX = library.find("reads-beside-writes").patterns[0]


@pytest.mark.parametrize(("reads", "written", "weights"), [
    (2000.0, 64 * 2**20, {"reads": 2000.0, "writes": 512.0}),
    (500.0, 0, {"reads": 500.0}),
    (None, 2**20, {"writes": 8.0}),
])  # fmt: skip
def test_reads_have_a_rate_and_writes_a_bandwidth(
    reads: float | None, written: float | None, weights: dict[str, float]
) -> None:
    """Writes of 128K; what is not asked for beside the other is left out."""
    pattern, rate_per_s = mix_pattern(MATRIX, reads, written)
    assert {stream.name: stream.weight for stream in pattern.streams} == weights
    assert rate_per_s == pytest.approx(sum(weights.values()))


def test_without_writes_reads_go_as_fast_as_they_can() -> None:
    """No rate is asked for then."""
    pattern, rate_per_s = mix_pattern(MATRIX, None, 0)
    assert ([stream.name for stream in pattern.streams], rate_per_s) == (["reads"], None)


@pytest.mark.parametrize(
    ("name", "problem"),
    [("sql", "both reads and writes"), ("four-corners", "no stream that only writes")],
)
def test_a_pattern_that_cannot_be_so_is_refused(name: str, problem: str) -> None:
    """With the profile that can."""
    with pytest.raises(UserError, match=problem) as caught:
        mix_pattern(library.find(name).patterns[0], 100.0, 2**20)
    assert "reads-beside-writes" in caught.value.remedy


def test_nothing_at_all_cannot_be_measured() -> None:
    """Neither reads nor writes."""
    with pytest.raises(UserError, match="neither"):
        mix_pattern(MATRIX, 0, 0)
