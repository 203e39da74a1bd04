"""What trials say together: never more than all of them bear."""

from stithy.analysis.search.bracket import Bracket, Said, Trial, bracket


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
