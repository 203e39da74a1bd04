"""Brackets of a search, which level is tried next, and how many users meet a target."""

from collections.abc import Callable, Mapping

import pytest

from stithy.analysis.answers.findings import findings, question
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.search.bracket import (
    Bracket,
    Said,
    Trial,
    Wanted,
    bracket,
    next_level,
    next_wanted,
)
from stithy.analysis.search.capacity import (
    CapacityFinding,
    End,
    UsersWithinTarget,
    capacity_finding,
    trials,
    users_within_target,
)
from stithy.analysis.validity.reasons import Flag
from stithy.analysis.verdict.decide import PrimaryComparison
from stithy.search import Search
from support.searched import LIMIT, SEARCH, evidence, one_more, window


def test_the_bracket_lies_between_the_last_that_obeys_and_the_next_that_does_not() -> None:
    """In whatever order they were measured."""
    found = bracket([Trial(8, 0, 1), Trial(1, 1), Trial(4, 2), Trial(6, 0, 1)])
    assert found == Bracket(Trial(4, 2), Trial(6, 0, 1), Trial(6, 0, 1), (), (), ())


def test_a_response_that_is_not_monotone_is_noticed_and_not_believed() -> None:
    """What obeys above a level that does not is told, and gives no higher bracket."""
    found = bracket([Trial(1, 1), Trial(2, 0, 2), Trial(4, 1), Trial(8, 0, 1)])
    assert (found.low, found.high, found.again) == (Trial(1, 1), Trial(2, 0, 2), (4,))


def test_a_level_that_says_nothing_is_no_end_of_a_bracket() -> None:
    """Above it others may obey or not; it is the next wall for the search."""
    silent = Trial(4, silent=2)
    found = bracket([Trial(2, 1), silent, Trial(8, 0, 1)])
    assert (found.low, found.high, found.wall) == (Trial(2, 1), Trial(8, 0, 1), silent)
    assert found.silent == (4,)
    assert bracket([Trial(2, 1), silent, Trial(8, 1)]).low == Trial(8, 1)


def test_one_window_of_several_decides_nothing() -> None:
    """Twenty that obey and one that does not disagree."""
    trial = Trial(4, 20, 1)
    assert trial.said is Said.SPLIT
    assert bracket([trial]).low is None


def test_windows_that_disagree_are_as_many_as_those_that_agree() -> None:
    """Two are enough for an end of a bracket, whatever they say; silent ones count for none."""
    assert [Trial(4, 2).is_sure, Trial(4, 1, 1).is_sure, Trial(4, 0, 2).is_sure] == [True] * 3
    assert not Trial(4, 1, 0, silent=2).is_sure


def test_without_trials_nothing_is_known() -> None:
    """Not even a wall."""
    assert bracket([]) == Bracket(None, None, None, (), (), ())


Storage = Callable[[int, int], bool | None]
"""Whether the n-th window at a level obeys; None: it is not valid."""


def serving(most: int) -> Storage:
    """A storage that serves so many users, always."""
    return lambda users, _: users <= most


def searched(storage: Storage, search: Search, most: int = 200) -> list[int]:
    """The levels of the windows of a whole search, in their order."""
    trials: dict[int, Trial] = {}
    order: list[int] = []
    while (users := next_level(list(trials.values()), search)) is not None:
        order.append(users)
        assert len(order) < most
        trials[users] = measured(trials.get(users, Trial(users)), storage)
    return order


def measured(before: Trial, storage: Storage) -> Trial:
    """A trial with one window more."""
    said = storage(before.users, before.obeyed + before.missed + before.silent)
    return one_more(before, said)


def test_users_are_doubled_then_halved_then_both_ends_are_measured_again() -> None:
    """The level that obeys first, then the one that does not."""
    order = searched(serving(34), Search(LIMIT, 1, 256))
    assert order == [1, 2, 4, 8, 16, 32, 64, 48, 40, 36, 34, 34, 36]


def test_a_limit_that_one_user_does_not_meet_ends_the_search() -> None:
    """After a second window that says the same."""
    assert searched(serving(0), Search(LIMIT, 1, 100)) == [1, 1]


def test_a_search_begins_with_what_the_listed_levels_tell() -> None:
    """They are not tried again, unless one is an end of the bracket."""
    known = [Trial(1, 1), Trial(8, 1), Trial(32, 0, 1)]
    search = Search(LIMIT, 1, 256, (1, 8, 32))
    assert next_level(known, search) == 20
    assert next_level([Trial(8, 0, 1)], Search(LIMIT, 1, 256, (8,))) == 1
    assert next_level([Trial(8, 1), Trial(9, 0, 20)], Search(LIMIT, 1, 256, (8, 9))) == 8


def test_a_second_window_that_disagrees_widens_the_bracket_to_the_next_ends() -> None:
    """34 obeyed once and once not: what is below and above it must be sure instead.

    No further level is tried: where noise decides, a finer bracket would only look surer.
    """

    def wavering(users: int, window: int) -> bool:
        return users < 34 or (users == 34 and window == 0)

    search = Search(LIMIT, 1, 256)
    order = searched(wavering, search)
    assert order[:12] == [1, 2, 4, 8, 16, 32, 64, 48, 40, 36, 34, 34]
    assert order[12:] == [32, 36]
    trials = [Trial(32, 2), Trial(34, 1, 1), Trial(36, 0, 2), Trial(40, 0, 1)]
    found = bracket(trials)
    assert (found.low, found.high, found.split) == (Trial(32, 2), Trial(36, 0, 2), (34,))


def test_a_level_without_a_valid_window_is_tried_once_more_and_then_shunned() -> None:
    """The driver could not do more: the search looks for the most that it could."""

    def driver_limited(users: int, _: int) -> bool | None:
        return True if users <= 40 else None

    order = searched(driver_limited, Search(LIMIT, 1, 256))
    assert order == [1, 2, 4, 8, 16, 32, 64, 64, 48, 48, 40, 44, 44, 42, 42, 40]


def test_candidates_that_want_one_level_are_measured_in_one_block() -> None:
    """Of different levels the lowest comes first."""
    search = Search(LIMIT, 1, 256)
    assert next_wanted({"sata": [], "nvme": []}, search) == Wanted(1, ("sata", "nvme"))
    trials = {"sata": [Trial(4, 1), Trial(8, 0, 1)], "nvme": [Trial(4, 1), Trial(8, 1)]}
    assert next_wanted(trials, search) == Wanted(6, ("sata",))
    done = {"sata": [Trial(1, 0, 2)], "nvme": [Trial(8, 1)]}
    assert next_wanted(done, search) == Wanted(16, ("nvme",))
    assert next_wanted({"sata": [Trial(1, 0, 2)]}, search) is None


def held(*windows: list[Window], search: Search | None = None) -> UsersWithinTarget:
    """What is known of the candidate `a` with these windows."""
    whole = evidence([each for some in windows for each in some])
    known = Evidence(whole.candidates, whole.levels, whole.windows, search=search)
    return users_within_target(known, "a", LIMIT)


def test_where_the_highest_level_obeys_it_is_at_least_so_many() -> None:
    """Nobody has tried more."""
    known = held(window("a", 1, [0.2]), window("a", 4, [0.5]))
    assert known == UsersWithinTarget(4)
    assert known.at_least


@pytest.mark.parametrize(
    ("windows", "because"),
    [
        ([window("a", 2, [1.5])], "at 2 it is beyond the limit"),
        ([window("a", 2, [0.1], flags=[Flag.DRIVER_LATE])], "the driver was the limit"),
        ([window("b", 2, [0.1])], "no valid window has a value"),
        ([], "the run has no window yet"),
    ],
)
def test_where_no_level_is_known_to_obey_it_says_why(
    windows: list[list[Window]], because: str
) -> None:
    """Missing, and never 0."""
    known = held(*windows)
    assert known.users is None
    assert known.missing_because == because
    assert not known.at_least


def test_a_search_for_the_same_limit_is_what_is_told() -> None:
    """Its bracket, and that it was cut off where it was."""
    first = window("a", 1, [0.2, 0.2])
    assert held(first, search=Search(LIMIT, 1, 8)) == UsersWithinTarget(
        1, open_because="its search was cut off"
    )


def found(*windows: Window, search: Search = SEARCH) -> CapacityFinding:
    """What a search with these windows says."""
    told = capacity_finding(evidence(windows, search))
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


def test_a_search_that_the_driver_ended_says_so() -> None:
    """Not that the storage could do no more."""
    late = window("sata", 2, [0.2, 0.2], flags=[Flag.DRIVER_LATE])
    [capacity] = found(*window("sata", 1, [0.2, 0.2]), *late).of
    assert (capacity.high, capacity.stopped_at) == (None, 2)
    assert capacity.because == "the driver was the limit"


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


def brackets(ends: Mapping[str, tuple[int, int]]) -> CapacityFinding:
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
    alone = evidence(windows, asked=PrimaryComparison(by_search=True))
    assert question(alone) is None
    assert isinstance(findings(alone, {})[0], CapacityFinding)


def test_beside_a_question_a_search_is_told_second() -> None:
    """The level that is asked about comes first; that of one candidate is no question."""
    windows = [*window("sata", 1, [0.5, 0.5]), *window("nvme", 1, [0.5, 0.5])]
    kinds = [each.kind for each in findings(evidence(windows), {})]
    assert kinds[:2] == ["comparison", "served"]
    only = [each.kind for each in findings(evidence(window("sata", 1, [0.5])), {})]
    assert only == ["served"]
