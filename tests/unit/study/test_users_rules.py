"""What of the load contradicts itself is refused at the key to change, with what would be right."""

import pytest

from support.studies import problems, study_text

BAD = [
    (["rate: 500/s", "pace: none"], "`load.rate`: a rate together with a pace", "keep one"),
    (
        ["rate: 5/s", "users_per_warehouse: 5"],
        "`load.users_per_warehouse`: homes in an",
        "leave it",
    ),
    (
        ["rate: 5/s", "connections: 4"],
        "`load.users`: levels that would all be the same",
        "keep one",
    ),
    (
        ["rate: 5/s", "delivery: deferred"],
        "`load.delivery`: deferred deliveries in an open loop",
        "leave it out",
    ),
    (
        ["pace: keyed", "delivery: awaited"],
        "`load.delivery`: users with keyed pace who wait",
        "leave it out",
    ),
    (["arrivals: constant"], "`load.arrivals`: arrivals without a rate", "add `rate`"),
    (["connections: 5"], "`load.connections`: more connections than users: 5", "at most 4"),
    (["profile: hammerdb", "pace: keyed"], "`load.profile`: HammerDB's mix with", "without waits"),
    (
        ["users_per_warehouse: 1"],
        "`load.users[1]`: more users than homes: 4",
        "at most 2 with 2 warehouses and 1 users at home in each; or `users_per_warehouse: 2`, "
        "or 4 warehouses in reach",
    ),
    (
        ["touch: 50%", "users_per_warehouse: 3"],
        "`load.touch`: too few homes in reach for 4 users: 50%",
        "at least 100%, or `users_per_warehouse: 4`",
    ),
]


@pytest.mark.parametrize(("lines", "what", "right"), BAD)
def test_what_contradicts_itself_is_refused(lines: list[str], what: str, right: str) -> None:
    """One problem, with the place and the remedy."""
    text = "".join(f"  {line}\n" for line in lines)
    [problem] = problems(study_text(("  users: [1, 4]\n", f"  users: [1, 4]\n{text}")))
    assert what in problem.problem
    assert right in problem.remedy


GOOD = [
    ["rate: 500/s"],
    ["rate: 500/s", "arrivals: constant", "touch: 50%"],
    ["profile: hammerdb", "pace: {think: 1 s}"],
    ["pace: keyed", "connections: 50"],
    ["pace: keyed", "users_per_warehouse: 2"],
    ["connections: 2"],
    ["delivery: deferred", "connections: 5"],
    ["rate: 5/s", "delivery: awaited"],
    ["isolation: serializable"],
]


@pytest.mark.parametrize("lines", GOOD)
def test_what_goes_together_is_taken(lines: list[str]) -> None:
    """A pool may exceed the lowest level, and with deferred deliveries the users."""
    text = "".join(f"  {line}\n" for line in lines)
    assert not problems(study_text(("  users: [1, 4]\n", f"  users: [1, 4]\n{text}")))
