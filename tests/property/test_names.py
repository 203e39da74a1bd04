"""Names that are made of others: whatever is named, what differs has names that differ."""

import re
from collections.abc import Callable, Sequence
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from stithy.cli.talk.shortcut import read_candidates
from stithy.names import make_plain, name_text, tell_apart
from stithy.plan.steps import make_window_id
from stithy.point import Point, Value, find_named, join_words, measure_magnitude
from stithy.report.exports.go_bench import escape_word

ALIKE = st.sampled_from("aAbBß16kK-_ ./+%:~\\=,\"'\n\u2028é漢")
"""Letters that names drop, join with, or write alike."""

FILE = r"[a-z0-9][a-z0-9.+_-]{0,239}"
TEXTS = st.text(ALIKE, min_size=1, max_size=8) | st.text(min_size=1, max_size=300)
VALUES: st.SearchStrategy[Value] = st.one_of(
    st.booleans(), st.integers(-20, 20), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([
        "1 GiB", "1gib", "1 gib", "10%", "10pct", "2000/s", "2000ps", "4-log1", "on", "true", "1",
        "a/b", "a.b", "./a.b", ".a.b", "./a.fio/b", "a.fio/b", "./a/fio.b", "1/5", "a1/5", "a1.5",
    ]),
    TEXTS,
)  # fmt: skip
FACTORS = st.lists(
    st.sampled_from(["users", "profile", "rate", "database.settings.log", "database.settings.a_b"]),
    min_size=1, max_size=3, unique=True,
)  # fmt: skip
CANDIDATES = st.from_regex(r"[a-z0-9][a-z0-9-]{0,39}", fullmatch=True) | st.sampled_from(
    ["a", "a-profile", "a-users4", "a-again", "a-rate10pct-profileb"]
)


def _amounts(point: Point) -> tuple[Value, ...]:
    """A study has no two values that are one amount, such as 4MB and 4 MB."""
    return tuple(
        join_words(value)
        if isinstance(value, str) and measure_magnitude(value) is not None
        else value
        for _, value in point.factors
    )


@st.composite
def points(draw: st.DrawFn) -> list[Point]:
    """Points of one study."""
    names = draw(FACTORS)
    values = st.tuples(*(VALUES for _ in names))
    point = values.map(lambda drawn: Point(tuple(zip(names, drawn, strict=True))))
    return draw(st.lists(point, min_size=2, max_size=8, unique_by=_amounts))


def _assert_distinct_files(names: Sequence[str]) -> None:
    """Also where case makes no difference."""
    assert len({name.casefold() for name in names}) == len(names), names
    assert all(re.fullmatch(FILE, name) for name in names)


@given(points(), st.lists(CANDIDATES, min_size=1, max_size=3, unique=True))
def test_distinct_windows_have_distinct_ids(every: list[Point], candidates: list[str]) -> None:
    """Each is the name of a directory, and of nothing else."""
    turns = product(candidates, every, (0, 10), (0, 1))
    ids = [make_window_id(name, point, block, attempt=again) for name, point, block, again in turns]
    _assert_distinct_files(ids)


@given(points())
def test_a_point_is_named_by_its_own_word(every: list[Point]) -> None:
    """No word names another point than the one that it was made of."""
    assert [find_named(every, point.slug) for point in every] == every


@given(st.lists(TEXTS, min_size=2, max_size=12, unique=True))
def test_distinct_texts_have_distinct_names(texts: list[str]) -> None:
    """A name can be read; with a number where all are known."""
    names = list(map(name_text, texts))
    _assert_distinct_files(names)
    assert all(name == text or name.startswith(make_plain(text))
               for name, text in zip(names, texts, strict=True))  # fmt: skip
    _assert_distinct_files(tell_apart(texts, "nameless"))


LABELS: dict[str, Callable[[list[str]], list[str]]] = {
    "a line of Go's benchmarks": lambda texts: list(map(escape_word, texts)),
    "candidates": lambda texts: list(
        read_candidates([f"/t/{each.replace('/', '|')}/" for each in texts], wipe=False)
    ),
}


@given(st.lists(TEXTS, min_size=2, max_size=12, unique=True), st.sampled_from(sorted(LABELS)))
def test_nothing_is_lost_to_another_of_its_label(texts: list[str], of: str) -> None:
    """What is exported, and what a command measures."""
    labels = LABELS[of](texts)
    assert len(set(labels)) == len(texts)
    if of == "candidates":
        assert all(re.fullmatch(r"[a-z][a-z0-9-]{0,39}", label) for label in labels)
