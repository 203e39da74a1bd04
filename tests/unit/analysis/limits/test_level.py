"""What limited a candidate at a level."""

from dataclasses import replace

import pytest

from stithy.analysis.limits.judge import judge
from stithy.analysis.limits.level import at_level
from stithy.analysis.limits.sight import Cpus
from stithy.analysis.validity.head_room import HeadRoom
from support.sample_sight import sight

FULL = judge(sight(server=Cpus(1, 0.9)))
FULLER = judge(sight(server=Cpus(1, 0.96)))
CAPPED = judge(sight(places=100, paced=True, under_way=2.0, server=Cpus(2, 0.1)))


def test_most_windows_decide_and_their_shares_are_meant() -> None:
    """Two of three: told with the number of windows."""
    cause = at_level([FULL, CAPPED, FULLER])
    assert cause is not None
    assert (cause.limit, cause.windows, cause.windows_all) == ("server-cpu", 2, 3)
    assert cause.share == pytest.approx(0.93)
    assert cause.says == "the server's CPU was busy 90 % of the time"
    assert not cause.is_cap


def test_users_and_instruments_cap_a_throughput() -> None:
    """What was asked is what was done."""
    cause = at_level([CAPPED])
    assert cause is not None
    assert cause.is_cap
    assert not cause.is_storage_result


def test_what_is_not_determined_tells_what_is_missing_and_several_what_is_nearest() -> None:
    """So that a reader knows what to do about it."""
    unknown = at_level([judge(sight(head_room=HeadRoom(1.0, None, None)))])
    assert unknown is not None
    assert (unknown.limit, unknown.says) == ("unknown", "the load driver could not be judged")
    several = at_level([judge(sight())])
    assert several is not None
    assert (several.limit, several.share) == ("several", 0.5)
    assert several.says == "the server's CPUs were busy 50 % of the time"


def test_the_storages_part_is_told_only_where_all_windows_know_it() -> None:
    """A mean of some windows would be that of others."""
    blind = replace(CAPPED, storage_share=None)
    both = at_level([CAPPED, blind])
    assert both is not None
    assert both.storage_share is None
    assert both.is_storage_result


def test_cpus_are_full_from_85_per_cent_whatever_else_limited() -> None:
    """Mean over all windows, not only over those that the commonest cause limited."""
    cause = at_level([FULL, CAPPED, FULLER])
    assert cause is not None
    assert (cause.cpus, cause.is_full) == ("server-cpu", False)
    assert cause.cpus_share == pytest.approx((0.9 + 0.1 + 0.96) / 3)
    full = at_level([FULL, judge(sight(server=Cpus(1, 0.81)))])
    assert full is not None
    assert full.is_full


def test_without_windows_there_is_nothing_to_tell() -> None:
    """Not even that it is unknown."""
    assert at_level([]) is None
