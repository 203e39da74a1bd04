"""What memory holds, from /proc/meminfo."""

import re

from stithy.collect.collectors.memory import METRICS, parse
from support.captured import captured


def test_every_metric_is_found_in_a_captured_file_in_bytes() -> None:
    """The kernel's kB are KiB."""
    text = captured("proc/meminfo")
    found = parse(text.encode())
    assert found.keys() == {metric.name for metric in METRICS}
    free = re.search(r"^MemFree: +(\d+) kB$", text, re.MULTILINE)
    assert free is not None
    assert found["free_bytes"] == int(free[1]) * 1024


def test_a_line_that_a_kernel_lacks_is_absent_and_not_zero() -> None:
    """An old kernel without MemAvailable gives no value for it."""
    assert parse(b"MemFree: 10 kB\n") == {"free_bytes": 10240}


def test_used_swap_is_total_less_free() -> None:
    """Both lines are needed."""
    assert parse(b"SwapTotal: 10 kB\nSwapFree: 4 kB\n") == {"swap_used_bytes": 6144}
