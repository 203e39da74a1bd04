"""A search as a sentence: what it says, and which word of it is wrong."""

import pytest

from stithy.search import Limit, Search
from stithy.study.model import Study
from support.studies import problems, study, study_text

SENTENCE = "max users with p95 of new-order ≤ 1 s"


def searching(*lines: str, find: str = SENTENCE) -> tuple[str, str]:
    """The change of a study that replaces its levels by a search."""
    return "  users: [1, 4]\n", "".join(f"  {line}\n" for line in (f"find: {find}", *lines))


def search(*lines: str, find: str = SENTENCE, users: str = "") -> Search:
    """The search of a study with these lines."""
    listed = [f"users: {users}"] if users else []
    found = _study(*listed, *lines, find=find).load.search(2)
    assert found is not None
    return found


def _study(*lines: str, find: str = SENTENCE) -> Study:
    return study(searching(*lines, find=find))


def told(*lines: str, find: str = SENTENCE) -> list[str]:
    """What is wrong with a study that has these lines."""
    found = problems(study_text(searching(*lines, find=find)))
    return [f"{each.problem}: {each.remedy}" for each in found]


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        (SENTENCE, Limit("p95", "new-order", 1.0)),
        ("max users with p99.9 of all <= 72 ms", Limit("p99.9", "all", 0.072)),
        ("max  users with p50 of stock-level≤2min", Limit("p50", "stock-level", 120.0)),
    ],
)
def test_a_sentence_is_a_percentile_a_type_and_a_time(text: str, limit: Limit) -> None:
    """However it is spaced; printed and read again it is the same."""
    assert search(find=text).limit == limit
    assert search(find=str(limit)).limit == limit


@pytest.mark.parametrize(
    ("text", "what", "right"),
    [
        ("max user with p95 of all ≤ 1 s", "not a search, `user`", SENTENCE),
        ("max users with p96 of all ≤ 1 s", "unknown percentile, `p96`", "did you mean"),
        ("max users with p95 of all < 1 s", "not the relation of a limit, `<`", "`<=`"),
        ("max users with p95 of all ≥ 1 s", "not the relation of a limit, `≥`", "≤"),
        ("max users with p95 of ≤ 1 s", "not a search, `≤`", SENTENCE),
        ("max users with p95 of al ≤ 1 s", "unknown transaction type `al`", "`all`"),
        ("max users with p95 of all ≤ 1", "not a duration, `1`", "a number with a unit"),
        ("max users with p95 of all ≤", "a limit without a time", SENTENCE),
        ("max users with p95 of all ≤ 0 s", "a limit that nothing obeys", "above 0"),
        ("max users with p95", "a search that ends too early", SENTENCE),
        ("[1, 2]", "not a search", SENTENCE),
        ("max users " * 30, "too long", SENTENCE),
    ],
)
def test_the_first_word_that_does_not_fit_is_told(text: str, what: str, right: str) -> None:
    """With what would be right."""
    [only] = told(find=text)
    assert what in only
    assert right in only


def test_a_search_goes_from_one_user_to_the_usual_end_or_to_the_last_home() -> None:
    """Unless the study says otherwise; whoever writes too many is told."""
    assert (search().users_least, search().users_most) == (1, 256)
    assert search("pace: keyed").users_most == 20
    within = search("find_within: [100, 15000]")
    assert (within.users_least, within.users_most) == (100, 15_000)
    [only] = told("find_within: [1, 21]", "pace: keyed")
    assert "more users than homes" in only


def test_listed_levels_within_the_ends_are_known_to_the_search() -> None:
    """It begins with what their windows tell."""
    found = search("find_within: [2, 8]", users="[1, 4, 16]")
    assert found.listed == (4,)
    assert _study("users: [1, 4]").load.users == (1, 4)
    assert _study().load.users == ()


def test_connections_and_sizes_are_those_of_the_most_users_that_may_come() -> None:
    """The server must admit all of them."""
    assert _study().load.connections_max == 256
    assert _study("connections: 8").load.connections_max == 8
    assert "more connections than users" in told("connections: 300")[0]


def test_what_contradicts_a_search_is_told() -> None:
    """Each at the key to change."""
    assert "a search for users at a rate" in told("rate: 50/s")[0]
    assert "blocks at each level without levels" in told("repeat: 3")[0]
    assert "not two levels in their order" in told("find_within: [5, 5]")[0]
    assert "not two levels in their order" in told("find_within: [1, 2, 3]")[0]
    without = problems(study_text(("  users", "  find_within: [1, 2]\n  users")))
    assert "the ends of a search without one" in str(without[0])


def limited(text: str) -> tuple[str, str]:
    """The change of a study that gives it a limit beside its levels."""
    return "  users: [1, 4]\n", f"  users: [1, 4]\n  limit: {text}\n"


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("p95 of new-order ≤ 1 s", Limit("p95", "new-order", 1.0)),
        ("p99.9 of all <= 72 ms", Limit("p99.9", "all", 0.072)),
        (" p50  of stock-level≤2min", Limit("p50", "stock-level", 120.0)),
    ],
)
def test_a_limit_that_is_not_searched_for_is_the_sentence_without_its_head(
    text: str, limit: Limit
) -> None:
    """Printed and read again it is the same; the study searches for nothing."""
    read = study(limited(text))
    assert read.load.limit == read.load.response_limit == limit
    assert read.load.search(2) is None
    assert study(limited(limit.text)).load.limit == limit


@pytest.mark.parametrize(
    ("text", "what", "right"),
    [
        ("p96 of all ≤ 1 s", "unknown percentile, `p96`", "did you mean"),
        (SENTENCE, "unknown percentile, `max`", "one of p50, p90"),
        ("p95 of all < 1 s", "not the relation of a limit, `<`", "`<=`"),
        ("p95 in all ≤ 1 s", "not a limit, `in`", "write p95 of new-order ≤ 1 s"),
        ("p95 of al ≤ 1 s", "unknown transaction type `al`: p95 of al ≤ 1 s", "`all`"),
        ("p95 of all ≤ 1", "not a duration, `1`", "a number with a unit"),
        ("p95 of all ≤ 0 s", "a limit that nothing obeys", "above 0"),
        ("p95 of", "a limit that ends too early", "write p95 of new-order ≤ 1 s"),
        ("1 s", "unknown percentile, `1`", "one of p50"),
        ("[1, 2]", "not a limit", "such as p95 of new-order ≤ 1 s"),
    ],
)
def test_the_first_word_of_a_limit_that_does_not_fit_is_told(
    text: str, what: str, right: str
) -> None:
    """As of a search, with an example of a limit."""
    [only] = problems(study_text(limited(text)))
    assert what in str(only)
    assert right in str(only)


def test_the_limit_of_a_search_is_the_studys_and_a_second_one_is_refused() -> None:
    """Two that agree would say one thing twice, and two that differ would be two limits."""
    assert _study().load.response_limit == Limit("p95", "new-order", 1.0)
    [only] = told("limit: p95 of new-order ≤ 1 s")
    assert "a limit beside a search" in only
    assert "leave it out: the limit of `find` is the study's" in only


def test_without_levels_there_is_no_question_and_no_threshold() -> None:
    """A search alone asks who serves more users."""
    primary = study_text(searching(), ("study:", "primary: {margin: 5%}\nstudy:"))
    assert "a question without a level" in str(problems(primary)[0])
    threshold = study_text(searching(), ("study:", "thresholds: [disk.nopm_at_4 >= 5]\nstudy:"))
    assert "add it to `load.users`" in str(problems(threshold)[0])
