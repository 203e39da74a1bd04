"""What of the `primary` section does not fit its study is told, at its place."""

from support.studies import problems, study, study_text


def told(text: str, *changes: tuple[str, str]) -> list[str]:
    """The problems of the small study with this section."""
    found = problems(study_text(("study:", f"primary: {text}\nstudy:"), *changes))
    return [f"{each.problem}: {each.remedy}" for each in found]


def test_a_level_that_is_not_measured_is_refused() -> None:
    """The levels are named."""
    [only] = told("{users: 2}")
    assert "a level that is not measured" in only
    assert "one of 1, 4" in only


def test_a_pair_is_of_two_candidates_of_the_study() -> None:
    """Not of others, and not twice the same."""
    assert "a candidate that the study does not have" in told("{candidates: [disk, tape]}")[0]
    assert "a candidate compared with itself" in told("{candidates: [disk, disk]}")[0]
    assert told("{candidates: [disk]}")


def test_a_limit_of_blocks_does_not_go_with_a_fixed_number() -> None:
    """One of them would be ignored."""
    repeat = ("ramp_up", "repeat: 5\n  ramp_up")
    assert "a limit of blocks beside a fixed number" in told("{blocks: 8}", repeat)[0]
    assert told("{users: 1}", repeat) == []


def test_blocks_margin_and_metric_have_bounds() -> None:
    """Below four there is no verdict, above twenty no look."""
    for text in ("{blocks: 3}", "{blocks: 21}", "{margin: 0%}", "{metric: tpm}", "{users: 0}"):
        assert len(told(text)) == 1


def test_without_a_section_all_of_it_is_left_open() -> None:
    """What is asked then is for the plan to derive."""
    primary = study().primary
    assert (primary.users, primary.metric, primary.candidates) == (None, None, None)


def test_a_margin_may_be_a_fraction_of_a_percent() -> None:
    """What one and a half percent is to one study is nothing to another."""
    found = study(("study:", "primary: {margin: 1.5%}\nstudy:"))
    assert found.primary.margin_percent == 1.5
    assert "at least 0.1%" in told("{margin: 0.05%}")[0]
