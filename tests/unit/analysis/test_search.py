"""Brackets of a search, which level is tried next, and how many users meet a target."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from stithy.analysis.capacity import (
    End,
    Trial,
    UsersWithinTarget,
    WantedLevel,
    choose_next_level,
    choose_next_windows,
    count_users_within,
    find_capacity,
    list_trials,
)
from stithy.analysis.cost import count_priced_users
from stithy.analysis.evidence import Window
from stithy.analysis.findings import answer_question, list_findings
from stithy.analysis.verdict import PrimaryComparison
from stithy.search import Search
from support import flags
from support.searched import LIMIT, SEARCH, evidence, one_more, window

Trials = Mapping[str, Sequence[Trial]]
Ends = Mapping[str, tuple[int | None, int | None]]
OBEYS, MISSES, SPLIT, SILENT = Trial(4, 2), Trial(8, 0, 1), Trial(5, 20, 1), Trial(6, silent=2)


Storage = Callable[[int, int], bool | None]
"""Whether the n-th window at a level obeys; None: it is not valid."""


@pytest.mark.parametrize(("storage", "order"), [
    (lambda users, _: users <= 34, [1, 2, 4, 8, 16, 32, 64, 48, 40, 36, 34, 34, 36]),
    (lambda users, _: False, [1, 1]),
    (lambda users, n: users < 34 or (users == 34 and not n),
     [1, 2, 4, 8, 16, 32, 64, 48, 40, 36, 34, 34, 32, 36]),
    (lambda users, _: True if users <= 40 else None,
     [1, 2, 4, 8, 16, 32, 64, 64, 48, 48, 40, 44, 44, 42, 42, 40]),
    (lambda users, _: True, [1, 2, 4, 8, 16, 32, 64, 128, 256, 256]),
], ids=["a limit", "not even one", "one that wavers", "a driver's end", "no limit"])  # fmt: skip
def test_users_are_doubled_then_halved_then_confirmed(storage: Storage, order: list[int]) -> None:
    """A level without a valid window is tried once more and shunned; noise ends the search."""
    known: dict[int, Trial] = {}
    tried: list[int] = []
    while (users := choose_next_level(list(known.values()), Search(LIMIT, 1, 256))) is not None:
        before = known.get(users, Trial(users))
        known[users] = one_more(before, storage(users, tried.count(users)))
        tried.append(users)
        assert len(tried) < 50
    assert tried == order


@pytest.mark.parametrize(("known", "wanted"), [
    ({"sata": [], "nvme": []}, WantedLevel(1, ("sata", "nvme"))),
    ({"sata": [Trial(4, 1), Trial(8, 0, 1)], "nvme": [Trial(4, 1), Trial(8, 1)]},
     WantedLevel(6, ("sata",))),
    ({"sata": [Trial(1, 0, 2)], "nvme": [Trial(8, 1)]}, WantedLevel(16, ("nvme",))),
    ({"sata": [Trial(1, 0, 2)]}, None),
])  # fmt: skip
def test_candidates_that_want_one_level_share_a_block(
    known: Trials, wanted: WantedLevel | None
) -> None:
    """Of different levels the lowest comes first."""
    assert choose_next_windows(known, Search(LIMIT, 1, 256)) == wanted


LATE = [flags.DRIVER_LATE]


@pytest.mark.parametrize(("windows", "search", "known"), [
    ([*window("a", 1, [0.2]), *window("a", 4, [0.5])], None, UsersWithinTarget(4)),
    ([*window("a", 1, [0.2]), *window("a", 4, [1.5])], None, UsersWithinTarget(1, 4)),
    (window("a", 2, [1.0]), None, UsersWithinTarget(2)),
    ([*window("a", 1, [0.2]), *window("a", 2, [0.9, 1.1])], None,
     UsersWithinTarget(1, open_because="at 2 its windows disagree")),
    (window("a", 2, [1.5]), None,
     UsersWithinTarget(None, 2, missing_because="at 2 it misses the target")),
    (window("a", 2, [0.1], flags=LATE), None,
     UsersWithinTarget(None, missing_because="the driver was the limit")),
    (window("a", 2, [0.1], flags=[flags.DRIVE_SLOWED]), None, UsersWithinTarget(
        None, missing_because="the machine was the limit: its emulated drive was late")),
    (window("a", 2, [0.1], flags=[flags.ERRORS]), None,
     UsersWithinTarget(None, missing_because='no window is valid ("errors")')),
    (window("a", 2, [None]), None,
     UsersWithinTarget(None, missing_because="no new-order was completed")),
    (window("b", 2, [0.1]), None,
     UsersWithinTarget(None, missing_because="no valid window has a value")),
    ([], None, UsersWithinTarget(None, missing_because="the run has no window yet")),
    (window("a", 1, [0.2, 0.2]), Search(LIMIT, 1, 8),
     UsersWithinTarget(1, open_because="its search was interrupted")),
    ([*window("a", 1, [0.2]), *window("a", 4, [1.5])], Search(LIMIT, 1, 8),
     UsersWithinTarget(1, 4, open_because="its search was interrupted")),
])  # fmt: skip
def test_users_within_a_target_are_a_measured_level_or_a_reason(
    windows: list[Window], search: Search | None, known: UsersWithinTarget
) -> None:
    """Missing, and never 0; at least so many where no level beyond is known."""
    of = replace(evidence(windows), search=search)
    assert count_users_within(of, "a", LIMIT) == known
    if known.level is not None:
        is_sure = known.not_at is not None and known.open_because is None
        assert count_priced_users(of, "a", LIMIT)[0] == (known.level if is_sure else None)


def found(*windows: Window, search: Search = SEARCH) -> Any:
    """What a search with these windows says."""
    return find_capacity(evidence(windows, search))


def test_each_window_is_judged_by_its_own_percentile() -> None:
    """They are not merged before; what is not valid, or has no such answers, says nothing."""
    windows = [
        *window("sata", 4, [0.2, 0.3, 1.4]), *window("sata", 2, [0.2]),
        *window("sata", 8, [0.2], flags=LATE), *window("sata", 9, [None]),
    ]  # fmt: skip
    assert list_trials(evidence(windows), "sata", SEARCH) == (
        Trial(2, 1), Trial(4, 2, 1), Trial(8, silent=1), Trial(9, silent=1),
    )  # fmt: skip


def test_a_search_keeps_where_it_stopped_and_what_makes_it_doubtful() -> None:
    """At its own end it has no reason; levels that disagree or come again make it wider."""
    levels = [*window("sata", 1, [0.1]), *window("sata", 2, [0.1]), *window("sata", 4, [0.1, 0.1])]
    [whole], [cut] = (found(*levels, search=Search(LIMIT, 1, most)).of for most in (4, 8))
    assert (whole.high, whole.stopped_at, whole.cut_off, cut.cut_off) == (None, None, False, True)
    [noisy] = found(
        *window("sata", 1, [0.1, 0.1]), *window("sata", 2, [0.9, 1.1]),
        *window("sata", 3, [1.2, 1.2]), *window("sata", 4, [0.9]),
    ).of  # fmt: skip
    assert (noisy.split, noisy.again) == ((2,), (4,))
    assert (noisy.low, noisy.high) == (End(1, 0.1, 2), End(3, 1.2, 2))


@pytest.mark.parametrize(("ends", "most"), [
    ({"sata": (4, 5), "nvme": (6, 7)}, "nvme"),
    ({"sata": (8, 9), "nvme": (2, 3), "hdd": (1, 2)}, "sata"),
    ({"sata": (32, 34), "nvme": (36, 38)}, "nvme"),
    ({"sata": (8, 9), "nvme": (8, 9), "hdd": (1, 2)}, None),
    ({"sata": (4, 5), "nvme": (5, 6)}, None),
    ({"sata": (32, 34), "nvme": (35, 36)}, None),
    ({"sata": (4, 6), "nvme": (5, 7)}, None),
    ({"sata": (4, 6)}, None),
    ({"hdd": (None, 1), "nvme": (256, None)}, "nvme"),
    ({"sata": (256, None), "nvme": (256, None)}, None),
])  # fmt: skip
def test_brackets_far_apart_tell_who_serves_most(ends: Ends, most: str | None) -> None:
    """Above every other candidate; those that are near, alone, or without an end tell nothing."""
    windows = [
        each
        for name, both in ends.items()
        for users, value in zip(both, (0.5, 1.5), strict=True)
        for each in (window(name, users, [value, value]) if users else ())
    ]
    assert found(*windows).most == most


def test_a_search_alone_is_the_answer_and_beside_a_question_it_is_told_second() -> None:
    """There is no level that was asked about; one candidate is no question either."""
    windows = [*window("sata", 1, [0.5, 0.5]), *window("nvme", 1, [0.5, 0.5])]
    alone = evidence(windows, asked=PrimaryComparison(by_search=True))
    assert answer_question(alone) is None
    kinds = [[each.kind for each in list_findings(of, {})] for of in (
        alone, evidence(windows), evidence(window("sata", 1, [0.5])))]  # fmt: skip
    assert kinds[0][0] == "served"
    assert kinds[1][:2] == ["comparison", "served"]
    assert kinds[2] == ["served"]
