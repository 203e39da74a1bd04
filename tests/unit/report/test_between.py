"""Runs held against each other: what each is called, and what is said of one before its numbers."""

from pathlib import Path

import pytest

from stithy.errors import UserError
from stithy.metrics import Quantity
from stithy.report.between import NAME_MOST, as_change, pairs
from stithy.report.context import Context, context_of
from stithy.results.comparability import NotComparable
from stithy.results.read import read_run
from support.sample_run import Shape, build_run

NOPM = (Quantity("nopm"),)


def built(path: Path, **shape: object) -> Context:
    """A short run there, read."""
    usual = {"users": (1,), "duration_s": 2, "series": False, **shape}
    return context_of(read_run(build_run(path, Shape(**usual)).root))  # type: ignore[arg-type]  # fields of Shape


def names(*contexts: Context) -> list[tuple[str, str]]:
    """What the runs of each pair are called."""
    base, *others = contexts
    return [each.names for each in pairs(base, others, (), NOPM)]


def test_a_run_is_called_by_its_directory_and_by_its_path_where_that_is_no_name(
    tmp_path: Path,
) -> None:
    """Also where only others share it: each run has one name in all that is told."""
    one, two, three = (built(tmp_path / name) for name in ("one", "a/run", "b/run"))
    assert names(one, two) == [("one", "run")]
    apart = [str(tmp_path / name) for name in ("a/run", "b/run")]
    assert names(one, two, three) == [("one", apart[0]), ("one", apart[1])]


def test_a_name_of_any_letters_and_length_fits_a_heading(tmp_path: Path) -> None:
    """Letters that act are told by their numbers, bytes that are no letters too."""
    long = built(tmp_path / ("x" * 200))
    odd = built(tmp_path / b"a\x1bb\xff".decode("utf-8", "surrogateescape"))
    ((first, second),) = names(long, odd)
    assert len(first) == NAME_MOST
    assert second == "a[U+001B]b[U+DCFF]"


def test_a_run_is_not_compared_with_itself(tmp_path: Path) -> None:
    """By whatever path it is named: all rows would say that nothing changed."""
    one = built(tmp_path / "one")
    (tmp_path / "link").symlink_to(tmp_path / "one")
    again = context_of(read_run(tmp_path / "link"))
    with pytest.raises(UserError, match="this is the run itself") as caught:
        pairs(one, [again], (), NOPM)
    assert caught.value.where == str(tmp_path / "link")


def test_one_run_of_several_that_cannot_be_compared_refuses_them_all(tmp_path: Path) -> None:
    """With the fact that differs; what is ignored must be a fact of one of them."""
    one, two = built(tmp_path / "one"), built(tmp_path / "two")
    other = built(tmp_path / "other", duration_s=3)
    with pytest.raises(NotComparable, match="duration_s") as caught:
        pairs(one, [two, other], (), NOPM)
    assert [each.remedy for each in caught.value.parts()] == ["--ignore duration_s"]
    (_, pair) = pairs(one, [two, other], ["duration_s"], NOPM)
    assert [str(each) for each in pair.ignored] == ["duration_s: 2 and 3"]
    with pytest.raises(UserError, match="duration"):
        pairs(one, [two], ["duration"], NOPM)


@pytest.mark.parametrize(
    ("ratio", "told"),
    [
        (1.123, "+12.3 %"), (1.0004, "+0.04 %"), (0.9996, "-0.04 %"), (1.0, "+0.0 %"),
        (12.4, "×12.4"), (0.0421, "-95.8 %"), (0.00421, "×0.0042"), (0.5, "-50.0 %"),
        (123456.0, "×123,456"),
    ],
)  # fmt: skip
def test_a_change_is_never_written_as_none(ratio: float, told: str) -> None:
    """Nor is what is left of a hundredth written as nothing."""
    assert as_change(ratio) == told
