"""Which CPUs a database server gets."""

import pytest

from stithy.errors import PreconditionError
from stithy.hosts.cpus import other_cpus, server_cpus

FOUR = frozenset({0, 2, 5, 7})


def test_without_emulated_drives_a_server_may_use_any_cpu() -> None:
    """A real drive needs none of the host's."""
    assert server_cpus(None, emulated=False, usable=FOUR) is None


def test_beside_emulated_drives_a_quarter_of_the_cpus_is_left_over() -> None:
    """The first ones, which serve most interrupts; a machine with one has none to leave over."""
    assert server_cpus(None, emulated=True, usable=FOUR) == (2, 5, 7)
    assert server_cpus(None, emulated=True, usable=frozenset({0, 1})) == (1,)
    assert server_cpus(None, emulated=True, usable=frozenset(range(16))) == tuple(range(4, 16))
    assert server_cpus(None, emulated=True, usable=frozenset({3})) is None


def test_what_is_not_the_server_gets_the_other_cpus() -> None:
    """Drives and driver take no cycle of the server's; where nothing is left they share."""
    assert other_cpus((5, 7), FOUR) == (0, 2)
    assert other_cpus((0, 2, 5, 7), FOUR) is None
    assert other_cpus(None, FOUR) is None


@pytest.mark.parametrize("emulated", [False, True])
def test_a_study_may_say_how_many(emulated: bool) -> None:
    """Then it is as many, whatever the drives are."""
    assert server_cpus(2, emulated=emulated, usable=FOUR) == (5, 7)


def test_more_cpus_than_there_are_are_refused() -> None:
    """Nothing that is not there can be measured."""
    with pytest.raises(PreconditionError, match="5 CPUs, and this process may use 4"):
        server_cpus(5, emulated=False, usable=FOUR)
