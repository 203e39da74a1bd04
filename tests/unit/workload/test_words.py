"""How users were driven, in words."""

import pytest

from stithy.workload.words import HAMMERDB, Reach, loop, pool, profile, reach

LOOPS = [
    (("none", None, None, None), "closed loop, back to back"),
    (("keyed", None, None, None), "closed loop, keyed as specified, deliveries deferred"),
    (("think", 2.0, None, None), "closed loop, think 2 s"),
    (("rate", None, 500.0, "poisson"), "open loop, 500/s Poisson"),
    (("rate", None, 0.5, "constant"), "open loop, 0.5/s at constant intervals"),
    (("rate", None, 0.5, None), "open loop, 0.5/s"),
]


@pytest.mark.parametrize(("facts", "said"), LOOPS)
def test_the_kind_of_loop_is_named(
    facts: tuple[str, float | None, float | None, str | None], said: str
) -> None:
    """With its pace."""
    assert loop(*facts) == said


def test_what_users_share_is_named() -> None:
    """A pool, or nothing."""
    assert pool(64) == "over 64 connections"
    assert pool(1) == "over 1 connection"
    assert pool(None) == "a connection each"
    assert pool(None, is_open=True) == "users are connections"


def test_a_profile_that_is_not_the_specified_one_is_loud() -> None:
    """Nobody can take its numbers for others."""
    assert profile("specification") == "specified mix and keys"
    assert profile("hammerdb") == HAMMERDB


def test_what_is_reached_is_told_beside_the_memory() -> None:
    """As far as each is known."""
    gib = 2**30
    assert reach(Reach(10, 10, 2 * gib, None)) == "users reach all 2 GiB"
    assert reach(Reach(3, 10, None, None)) == "users reach 3 of 10 warehouses"
    assert reach(Reach(3, 10, 10 * gib, gib // 8, gib)) == (
        "users reach about 3 GiB of 10 GiB (3 of 10 warehouses); the server has 128 MiB of shared "
        "buffers and a memory limit of 1 GiB"
    )
