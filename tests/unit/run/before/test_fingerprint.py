"""What must be the same for a run to go on, and how a change is told."""

import pytest

from stithy.results.manifest import Fact, Scalar
from stithy.run.before.fingerprint import changes, fingerprint

MACHINE = {
    "kernel": Fact(value="6.1.0"),
    "cpus": Fact(value=2),
    "memory_bytes": Fact(value=8 * 2**30),
    "cpu_governor": Fact(value="powersave"),
}


def test_it_holds_what_numbers_rest_on() -> None:
    """What may change between two windows anyway is not in it; what is not told is None."""
    found = fingerprint(MACHINE, {"stithy": "1.0", "postgresql": "15.1"})
    assert found == {
        "kernel": "6.1.0",
        "architecture": None,
        "CPU": None,
        "number of CPUs": 2,
        "memory": 8 * 2**30,
        "stithy": "1.0",
        "postgresql": "15.1",
    }


def test_the_same_machine_has_no_changes() -> None:
    """Also where a boot took a little more of the memory for itself."""
    before = fingerprint(MACHINE, {})
    assert changes(before, before) == ()
    assert changes(before, {**before, "memory": 8 * 2**30 - 2**20}) == ()


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("kernel", "6.2.0", "kernel: 6.1.0 before, 6.2.0 now"),
        ("number of CPUs", 4, "number of CPUs: 2 before, 4 now"),
        ("memory", 4 * 2**30, "memory: 8 GiB before, 4 GiB now"),
        ("CPU", "new", "CPU: not known before, new now"),
        ("hammer", "2.0", "hammer: not known before, 2.0 now"),
    ],
)
def test_each_change_is_told_with_both_values(name: str, value: Scalar, told: str) -> None:
    """So that the person can judge whether it matters."""
    before = fingerprint(MACHINE, {})
    assert changes(before, {**before, name: value}) == (told,)
