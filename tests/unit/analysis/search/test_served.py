"""Brackets from windows: what a run may say of how many users it serves."""

from collections.abc import Mapping

import pytest

from stithy.analysis.answers.findings import findings, question
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.search.bracket import Trial
from stithy.analysis.search.served import Capacity, End, Served, served, trials
from stithy.analysis.validity.flags import Flag
from stithy.analysis.verdict.asked import Asked
from stithy.search import Search
from support.searched import SEARCH, evidence, window


def found(*windows: Window, search: Search = SEARCH) -> Served:
    """What a search with these windows says."""
    told = served(evidence(windows, search))
    assert told is not None
    return told


def test_windows_become_trials_each_by_its_own_percentile() -> None:
    """Two that obey and one that does not are not merged before they are judged."""
    windows = [window("sata", 4, [0.2, 0.3, 1.4]), window("sata", 2, [0.2])]
    known = trials(evidence([each for many in windows for each in many]), "sata", SEARCH)
    assert known == (Trial(2, 1), Trial(4, 2, 1))


def test_what_is_not_valid_and_what_has_no_such_answers_says_nothing() -> None:
    """Neither for the limit nor against it."""
    late = window("sata", 4, [0.2], flags=[Flag.DRIVER_LATE])
    assert trials(evidence(late), "sata", SEARCH) == (Trial(4, silent=1),)
    assert trials(evidence(window("sata", 4, [None])), "sata", SEARCH) == (Trial(4, silent=1),)


def test_levels_outside_of_the_search_are_not_looked_at() -> None:
    """A study may list others."""
    search = Search(SEARCH.limit, 2, 8, (4,))
    windows = [*window("sata", 1, [0.2]), *window("sata", 4, [0.2]), *window("sata", 16, [9.0])]
    assert trials(evidence(windows, search), "sata", search) == (Trial(4, 1),)


def test_a_bracket_is_told_with_the_values_and_windows_of_its_ends() -> None:
    """And with nothing else."""
    windows = [*window("sata", 13, [0.9, 0.9]), *window("sata", 14, [1.1, 1.1])]
    [capacity] = found(*windows).of
    assert capacity == Capacity("sata", End(13, 0.9, 2), End(14, 1.1, 2))
    assert capacity.windows_least == 2


def test_a_search_that_the_driver_ended_says_so() -> None:
    """Not that the storage could do no more."""
    late = window("sata", 2, [0.2, 0.2], flags=[Flag.DRIVER_LATE])
    [capacity] = found(*window("sata", 1, [0.2, 0.2]), *late).of
    assert (capacity.high, capacity.stopped_at) == (None, 2)
    assert capacity.because == "the driver was the limit"


@pytest.mark.parametrize(
    ("flag", "because"),
    [
        (Flag.DRIVE_LATE, "the machine was the limit"),
        (Flag.ERRORS, 'no window is valid ("errors")'),
        (None, "no new-order was completed"),
    ],
)
def test_other_ends_are_told_by_their_reason(flag: Flag | None, because: str) -> None:
    """Whatever it is that no window says anything."""
    silent = window("sata", 2, [0.2 if flag else None] * 2, flags=[flag] if flag else [])
    [capacity] = found(*window("sata", 1, [0.2, 0.2]), *silent).of
    assert capacity.because is not None
    assert capacity.because.startswith(because)


def test_a_search_that_reached_its_own_end_has_no_reason_to_stop() -> None:
    """The limit was obeyed at the most users that it was to try."""
    search = Search(SEARCH.limit, 1, 4)
    levels = [*window("sata", 1, [0.1]), *window("sata", 2, [0.1]), *window("sata", 4, [0.1, 0.1])]
    [capacity] = found(*levels, search=search).of
    assert (capacity.high, capacity.stopped_at, capacity.cut_off) == (None, None, False)


def test_a_search_that_was_cut_off_is_known_as_such() -> None:
    """Its next level was not measured."""
    [capacity] = found(*window("sata", 1, [0.1])).of
    assert capacity.cut_off


def test_what_disagrees_and_what_is_not_monotone_is_kept() -> None:
    """Both make the bracket wider."""
    windows = [
        *window("sata", 1, [0.1, 0.1]), *window("sata", 2, [0.9, 1.1]),
        *window("sata", 3, [1.2, 1.2]), *window("sata", 4, [0.9]),
    ]  # fmt: skip
    [capacity] = found(*windows).of
    assert (capacity.split, capacity.again) == ((2,), (4,))
    assert (capacity.low, capacity.high) == (End(1, 0.1, 2), End(3, 1.2, 2))


def brackets(ends: Mapping[str, tuple[int, int]]) -> Served:
    """What is said of candidates with these brackets."""
    windows = [
        each
        for name, (low, high) in ends.items()
        for each in (*window(name, low, [0.5, 0.5]), *window(name, high, [1.5, 1.5]))
    ]
    return found(*windows)


def test_brackets_further_apart_than_they_are_wide_tell_who_serves_most() -> None:
    """Above every other candidate, not only above the next."""
    assert brackets({"sata": (4, 5), "nvme": (6, 7)}).most == "nvme"
    assert brackets({"sata": (8, 9), "nvme": (2, 3), "hdd": (1, 2)}).most == "sata"
    assert brackets({"sata": (32, 34), "nvme": (36, 38)}).most == "nvme"
    bounded = [*window("hdd", 1, [1.5, 1.5]), *window("nvme", 256, [0.1, 0.1])]
    assert found(*bounded).most == "nvme"


def test_brackets_that_are_near_tell_nothing() -> None:
    """Nor does a single one, nor those without an end between them."""
    assert brackets({"sata": (4, 5), "nvme": (5, 6)}).most is None
    assert brackets({"sata": (32, 34), "nvme": (35, 36)}).most is None
    assert brackets({"sata": (4, 6), "nvme": (5, 7)}).most is None
    assert brackets({"sata": (4, 6)}).most is None
    unbounded = [*window("nvme", 256, [0.1, 0.1]), *window("sata", 256, [0.1, 0.1])]
    assert found(*unbounded).most is None


def test_a_search_alone_is_the_answer_and_compares_nothing() -> None:
    """There is no level that was asked about."""
    windows = [*window("sata", 1, [0.5, 0.5]), *window("nvme", 1, [0.5, 0.5])]
    alone = evidence(windows, asked=Asked(by_search=True))
    assert question(alone) is None
    assert isinstance(findings(alone, {})[0], Served)


def test_beside_a_question_a_search_is_told_second() -> None:
    """The level that is asked about comes first; that of one candidate is no question."""
    windows = [*window("sata", 1, [0.5, 0.5]), *window("nvme", 1, [0.5, 0.5])]
    kinds = [each.kind for each in findings(evidence(windows), {})]
    assert kinds[:2] == ["comparison", "served"]
    only = [each.kind for each in findings(evidence(window("sata", 1, [0.5])), {})]
    assert only == ["served"]


def test_without_a_search_nothing_is_told_of_one() -> None:
    """As in every study before there were searches."""
    assert served(Evidence(("sata",), (1,), tuple(window("sata", 1, [0.5])))) is None
