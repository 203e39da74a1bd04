"""Memory of a control group, of both versions."""

from pathlib import Path

import pytest

from stithy.collect.collector import Scope, Unavailable
from stithy.collect.collectors.cgroup import create


def sampled(group: Path) -> dict[str, float | None]:
    """The values of the first real sample."""
    collector = create(Scope((), None, memory_cgroup=group))
    assert list(collector.sample()) == []
    found = {sample.metric: sample.value for sample in collector.sample()}
    collector.close()
    return found


def write(group: Path, **files: str) -> None:
    """Write the group's files; `__` in a name stands for its dot."""
    for name, text in files.items():
        (group / name.replace("__", ".")).write_text(text)


def test_version_2_is_read(tmp_path: Path) -> None:
    """current, max, peak and two lines of stat."""
    write(tmp_path, memory__current="4096\n", memory__max="8192\n", memory__peak="5000\n")
    write(tmp_path, memory__stat="anon 1000\nfile 3000\nkernel 96\n")
    assert sampled(tmp_path) == {
        "used_bytes": 4096, "limit_bytes": 8192, "peak_bytes": 5000,
        "page_cache_bytes": 3000, "anonymous_bytes": 1000,
    }  # fmt: skip


def test_version_1_is_read(tmp_path: Path) -> None:
    """The same, under older names, children included."""
    write(tmp_path, memory__usage_in_bytes="4096\n", memory__limit_in_bytes="8192\n")
    write(tmp_path, memory__max_usage_in_bytes="5000\n")
    write(tmp_path, memory__stat="cache 1\nrss 2\ntotal_cache 3000\ntotal_rss 1000\n")
    assert sampled(tmp_path) == {
        "used_bytes": 4096, "limit_bytes": 8192, "peak_bytes": 5000,
        "page_cache_bytes": 3000, "anonymous_bytes": 1000,
    }  # fmt: skip


@pytest.mark.parametrize("limit", ["max", "9223372036854771712"])
def test_no_limit_and_no_peak_are_null(tmp_path: Path, limit: str) -> None:
    """`max` or a number near 2**63 is no limit; old kernels have no memory.peak."""
    write(tmp_path, memory__current="4096\n", memory__max=limit, memory__stat="anon 1\nfile 2\n")
    found = sampled(tmp_path)
    assert found["limit_bytes"] is None
    assert found["peak_bytes"] is None


def test_a_server_without_a_group_makes_it_unavailable() -> None:
    """Where memory could not be limited there is no group."""
    with pytest.raises(Unavailable, match="no memory control group"):
        create(Scope((), None))
