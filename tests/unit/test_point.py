"""A point is the same however it is written; which factor is its level, and what none is called."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy import activity
from stithy.activity import DeclaredActivity, Factor, get_level_factor, require_usable
from stithy.errors import UserError
from stithy.point import Point, Value, find_named, list_varied, measure_magnitude
from stithy.registry import plugins

NAMES = st.from_regex(r"[a-z][a-z0-9_.\-]{0,12}", fullmatch=True)
VALUES: st.SearchStrategy[Value] = st.one_of(
    st.booleans(), st.integers(-(10**12), 10**12), st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20),
)  # fmt: skip


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=4))
def test_the_text_of_a_point_is_read_as_the_same_point(values: dict[str, Value]) -> None:
    """Whatever its values hold: commas, quotes, numbers as text."""
    point = Point(tuple(values.items()))
    read = Point.parse(str(point))
    assert read == point
    assert [type(value) for _, value in read.factors] == [type(value) for value in values.values()]


@pytest.mark.parametrize(
    "text", ["", "users", "users=", "users=4,", "=4", "users=4, ", "a=1 b=2,c"]
)
def test_any_other_text_is_no_point(text: str) -> None:
    """So that a damaged table is found out."""
    with pytest.raises(ValueError, match="not a point"):
        Point.parse(text)


def test_points_are_in_order_of_their_other_factors_and_then_of_the_users() -> None:
    """Sizes, times and shares by how much they are, words after them."""
    memory = ["192 MiB", "0.5 GiB", "1 GiB", "8 TiB"]
    points = [Point((("users", u), ("database.memory", m))) for m in memory for u in (2, 10)]
    assert sorted([*points[3:], *points[:3]]) == points
    assert sorted(["on", "20 ms", "1 s", "off"], key=lambda v: Point.of(x=v)) == [
        "20 ms", "1 s", "off", "on",
    ]  # fmt: skip
    assert measure_magnitude("30%") == 0.3
    assert {measure_magnitude(name) for name in ("4k", "64m", "inf", "nan", "infinity")} == {None}


def test_a_word_names_the_point_that_it_tells_from_all_others() -> None:
    """The value where one factor varies, else the point's own word."""
    ladder = [Point.of(users=users) for users in (1, 13)]
    found = [find_named(ladder, word) for word in ("13", "u13", "2", "")]
    assert found == [ladder[1], ladder[1], None, None]
    sizes = [Point((("users", 8), ("database.memory", m))) for m in ("256 MiB", "1 GiB")]
    assert [find_named(sizes, word) for word in ("1GiB", "u8-memory1gib", "8")] == [
        sizes[1]
    ] * 2 + [None]
    both = [*sizes, *(each.replaced("users", 4) for each in sizes)]
    assert list_varied(both) == ("users", "database.memory")
    assert find_named(both, "1GiB") is None
    assert find_named(both, "u4-memory1gib") == both[3]
    assert both[3].in_words() == "4 users with database.memory 1 GiB"


def test_a_factor_that_is_switched_is_said_as_people_say_it() -> None:
    """And after `at` only where that reads well; a key of the study is said as it is written."""
    said = [
        Point(factors).at()
        for factors in (
            (("users", 1),), (("users", 8), ("backup", "on")), (("backup", "off"),),
            (("users", 8), ("rate", "50%"), ("backup", "off")),
            (("users", 2), ("database.settings.jit", "on")),
        )
    ]  # fmt: skip
    assert said == [
        "at 1 user", "at 8 users with backups", "without backups",
        "at 8 users with rate 50%, without backups", "at 2 users with database.settings.jit on",
    ]  # fmt: skip


def test_values_that_differ_in_their_sign_have_words_of_their_own() -> None:
    """Else -1 and 1 would be one value, and share the names of their files."""
    off, least, words = (Point.of(**{"database.settings.log": value}) for value in (-1, 1, "a-1"))
    assert (off.slug, least.slug, words.slug) == ("log-1", "log1", "loga-1")
    assert [find_named([off, least], word) for word in ("-1", "1", "log-1")] == [off, least, off]


WORDS: dict[Value, str] = {
    "4 MB": "4mb", "4MB": "4mb", "4mb": "4mb-x662b5841", "80%": "80pct", "2000/s": "2000ps",
    "8k": "8k", "io_uring": "io_uring", "rand-read": "rand-read", "on": "on", "ON": "on-xe5969f4f",
    True: "true", "true": "-true-xb2f786de", -1: "-1", "0.5": "-0-5-x7a97880e", 0.5: "0.5",
    "four-corners/random-read-4k": "four-corners.random-read-4k", "./a.fio/b-1": ".a.fio.b-1",
    "/x/Prod DB.toml": "-x-prod-db-toml-x0b40e644", "a-log1": "a-log1-x4071e8e6",
}  # fmt: skip


def test_a_word_is_reversible_or_has_a_hash() -> None:
    """Amounts lose their blank and case, places their slashes."""
    slugs = {value: Point.of(**{"database.settings.log": value}).slug for value in WORDS}
    assert slugs == {value: f"log{word}" for value, word in WORDS.items()}


@pytest.mark.usefixtures("fakes")
def test_an_activity_says_what_the_values_of_its_factor_count() -> None:
    """Then they are levels: said with their unit, named in short, in order after all others."""
    low, high = (Point((("knocks", knocks), ("length", 8))) for knocks in (1, 20))
    assert (low.in_words(), high.in_words()) == ("1 knock with length 8", "20 knocks with length 8")
    assert (high.slug, high.level, low.at_level(20), high.counted) == (
        "k20-length8",
        20,
        high,
        "knocks",
    )
    assert sorted([high, low.replaced("length", 9), low]) == [low, high, low.replaced("length", 9)]
    assert Point.of(length=8).counted is None


def test_the_level_is_that_of_a_load_whatever_other_activities_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where another activity comes before it by the name of its file."""
    first = DeclaredActivity("first", factors=(Factor("knocks", "Knocks", "knock"),))
    every = {"first": first, **plugins(DeclaredActivity)}
    monkeypatch.setattr(activity, "plugins", lambda _: every)
    assert next(iter(activity.map_factors())) == "knocks"
    assert get_level_factor().name == "users"


def test_a_factor_with_the_name_of_another_column_of_figures_is_refused() -> None:
    """A block's number would stand for the factor's value, or the value for a percentile."""
    require_usable(("users", "bytes", "neighbour", "rate", "profile"), "own")
    with pytest.raises(UserError, match="cannot be called `block`") as caught:
        require_usable(("bytes", "value", "block"), "own")
    assert caught.value.where == "`factors` of the scenario own"
