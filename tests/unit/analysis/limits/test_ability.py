"""What a drive profile allows."""

from stithy.analysis.limits.ability import Ability, ability

PROFILE = """
channels = 32
[cap]
read_iops = 80_000
total_bytes_per_s = 560_000_000
something_new = 5
"""


def test_a_scale_divides_rates_and_leaves_channels() -> None:
    """As the drive itself does; a cap of another name is not judged."""
    caps = {"read_iops": 10_000.0, "total_bytes_per_s": 70_000_000.0}
    assert ability(PROFILE, 8.0) == Ability(caps, 32)


def test_a_disk_that_spins_serves_one_request_at_once() -> None:
    """It has no channels and no caps: its rates follow from its times."""
    assert ability("[disk]\nrpm = 7200\n", 1.0) == Ability({}, 1)


def test_a_profile_that_cannot_be_read_allows_nothing_that_is_known() -> None:
    """Results may be damaged."""
    assert ability("channels = = 3", 1.0) is None
    assert ability('channels = "many"\ncap = 3\n', 1.0) == Ability({}, None)
