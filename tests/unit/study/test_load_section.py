"""The `load` section: what is made of it, and at which key it is refused.

What is said of a wrong value is in tests/golden/errors.
"""

import pytest

from stithy.search import ResponseTarget, Search
from stithy.study.load_keys import Load
from stithy.study.load_values import Pace
from stithy.study.model import Study
from support.studies import problems, refused, study, study_text

LEVELS = "  users: [1, 4]\n"
SENTENCE = "max users with p95 of new-order ≤ 1 s"
LIMIT = ResponseTarget("p95", "new-order", 1.0)


def section(*lines: str) -> tuple[str, str]:
    """The change of a study that replaces its levels by these lines."""
    return LEVELS, "".join(f"  {line}\n" for line in lines)


def load(*lines: str, users: str = "[1, 4]") -> Load:
    """The checked section with these lines."""
    return study(section(f"users: {users}", *lines)).load


def searching(*lines: str, find: str = SENTENCE) -> Study:
    """A study that searches; `lines` may list levels, too."""
    return study(section(f"find: {find}", *lines))


def search(*lines: str, find: str = SENTENCE) -> Search:
    """Its search."""
    found = searching(*lines, find=find).load.search(2)
    assert found is not None
    return found


def test_users_work_back_to_back_over_their_own_connections_by_default() -> None:
    """Nobody has a home, all data are in the working set."""
    found = load()
    assert (found.pace, found.rate_per_s, found.home_users) == (Pace("none"), None, None)
    assert (found.connections, found.connections_max, found.reach(2)) == (None, 4, None)


def test_a_pool_is_what_the_server_must_admit() -> None:
    """However many users share it; of a search, the most users that may come."""
    found = load("connections: 64", "pace: {think: 2 s}", users="[100, 15000]")
    assert (found.connections_max, found.pace) == (64, Pace("think", 2.0))
    assert searching().load.connections_max == 256
    assert searching("connections: 8").load.connections_max == 8


@pytest.mark.parametrize(("line", "home"), [("pace: keyed", 10), ("users_per_warehouse: 3", 3)])
def test_keyed_users_are_at_home_ten_to_a_warehouse(line: str, home: int) -> None:
    """Others only where the study says so."""
    assert load(line).home_users == home


def test_a_rate_is_so_many_a_second_in_an_open_loop() -> None:
    """Whatever the unit of time that it is written in."""
    found = load("rate: 600/min", "arrivals: constant")
    assert (found.rate_per_s, found.arrivals) == (10.0, "constant")


@pytest.mark.parametrize(("share", "reach"), [(1, 1), (30, 3), (31, 4), (100, None)])
def test_the_share_is_rounded_up_to_whole_warehouses(share: int, reach: int | None) -> None:
    """At least one is touched; None is all of them."""
    assert load(f"touch: {share}%").reach(10) == reach


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("p95 of new-order ≤ 1 s", LIMIT),
        ("p99.9 of all <= 72 ms", ResponseTarget("p99.9", "all", 0.072)),
        (" p50  of stock-level≤2min", ResponseTarget("p50", "stock-level", 120.0)),
    ],
)
def test_a_target_is_a_percentile_a_type_and_a_time(text: str, limit: ResponseTarget) -> None:
    """However it is spaced; printed and read again it is the same, searched for or not."""
    found = search(find=f"max  users with {text}")
    assert found.limit == search(find=str(found.limit)).limit == limit
    alone = load(f"limit: {text}")
    assert alone.limit == alone.response_limit == load(f"limit: {limit.text}").limit == limit
    assert alone.search(2) is None
    assert searching().load.response_limit == LIMIT


def test_a_search_goes_from_one_user_to_the_usual_end_or_to_the_last_home() -> None:
    """Unless the study says otherwise; listed levels within its ends are known to it."""
    assert (search().users_least, search().users_most) == (1, 256)
    assert search("pace: keyed").users_most == 20
    within = search("find_within: [2, 8]", "users: [1, 4, 16]")
    assert (within.users_least, within.users_most, within.listed) == (2, 8, (4,))
    assert (searching("users: [1, 4]").load.users, searching().load.users) == ((1, 4), ())


REFUSED = [
    (["pace: fast"], "load.pace"),
    (["pace: 3"], "load.pace"),
    (["pace: {thnk: 2 s}"], "load.pace"),
    (["pace: {think: 0 s}"], "load.pace.think"),
    (["rate: 500/s", "pace: none"], "load.rate"),
    (["rate: 5/s", "users_per_warehouse: 5"], "load.users_per_warehouse"),
    (["rate: 5/s", "connections: 4"], "load.users"),
    (["rate: 5/s", "delivery: deferred"], "load.delivery"),
    (["pace: keyed", "delivery: awaited"], "load.delivery"),
    (["arrivals: constant"], "load.arrivals"),
    (["connections: 5"], "load.connections"),
    (["profile: hammerdb", "pace: keyed"], "load.profile"),
    (["users_per_warehouse: 1"], "load.users[1]"),
    (["touch: 50%", "users_per_warehouse: 3"], "load.touch"),
    (["find_within: [1, 2]"], "load.find_within"),
    *(
        ([f"limit: {text}"], "load.limit")
        for text in (
            "p96 of all ≤ 1 s", SENTENCE, "p95 of all < 1 s", "p95 in all ≤ 1 s",
            "p95 of al ≤ 1 s", "p95 of all ≤ 1", "p95 of all ≤ 0 s", "p95 of", "1 s", "[1, 2]",
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "key"), REFUSED, ids=lambda each: str(each))
def test_what_contradicts_itself_is_refused_at_the_key_to_change(
    lines: list[str], key: str
) -> None:
    """One problem, and no second one that follows from it."""
    assert refused(section("users: [1, 4]", *lines)) == [key]


REFUSED_SEARCHES = [
    *(
        ([f"find: {text}"], "load.find")
        for text in (
            "max user with p95 of all ≤ 1 s", "max users with p96 of all ≤ 1 s",
            "max users with p95 of all ≥ 1 s", "max users with p95 of ≤ 1 s",
            "max users with p95 of al ≤ 1 s", "max users with p95 of all ≤ 1",
            "max users with p95 of all ≤", "max users with p95 of all ≤ 0 s",
            "max users with p95", "[1, 2]", "max users " * 30,
        )
    ),
    ([f"find: {SENTENCE}", "find_within: [1, 21]", "pace: keyed"], "load.find_within[1]"),
    ([f"find: {SENTENCE}", "find_within: [5, 5]"], "load.find_within"),
    ([f"find: {SENTENCE}", "find_within: [1, 2, 3]"], "load.find_within"),
    ([f"find: {SENTENCE}", "connections: 300"], "load.connections"),
    ([f"find: {SENTENCE}", "rate: 50/s"], "load.rate"),
    ([f"find: {SENTENCE}", "repeat: 3"], "load.repeat"),
    ([f"find: {SENTENCE}", "limit: p95 of new-order ≤ 1 s"], "load.limit"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "key"), REFUSED_SEARCHES, ids=lambda each: str(each)[:60])
def test_a_search_that_contradicts_itself_is_refused(lines: list[str], key: str) -> None:
    """At the key to change."""
    assert refused(section(*lines)) == [key]


GOOD = [
    ["rate: 500/s", "arrivals: constant", "touch: 50%"],
    ["profile: hammerdb", "pace: {think: 1 s}"],
    ["pace: keyed", "connections: 50"],
    ["pace: keyed", "users_per_warehouse: 2"],
    ["connections: 2"],
    ["delivery: deferred", "connections: 5"],
    ["rate: 5/s", "delivery: awaited"],
    ["isolation: serializable"],
]


@pytest.mark.parametrize("lines", GOOD, ids=str)
def test_what_goes_together_is_taken(lines: list[str]) -> None:
    """A pool may exceed the lowest level, and with deferred deliveries the users."""
    assert problems(study_text(section("users: [1, 4]", *lines))) == []


def test_without_levels_there_is_no_question_and_no_threshold() -> None:
    """A search alone asks who serves more users."""
    find = section(f"find: {SENTENCE}")
    assert refused(find, ("study:", "primary: {margin: 5%}\nstudy:")) == ["primary.margin"]
    threshold = ("study:", "thresholds: [disk.nopm_at_4 >= 5]\nstudy:")
    assert refused(find, threshold) == ["thresholds[0]"]
