"""What of the `primary` section does not fit its study is told, at its place."""

import pytest

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
    for text in ("{blocks: 3}", "{blocks: 21}", "{margin: 0%}", "{metric: tpmc}", "{users: 0}"):
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


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("tpm", "tpm"),
        ("p99  of payment", "p99 of payment"),
        ("p99.9 of all", "p99.9 of all"),
        ("block.read_latency_s of sda1", "block.read_latency_s of sda1"),
        ("pressure.some_share of io", "pressure.some_share of io"),
        ("drive.flush_p99.9 of log", "drive.flush_p99.9 of log"),
    ],
)
def test_a_question_may_ask_about_any_metric(metric: str, expected: str) -> None:
    """Of the hammer, of emulated drives, of every collector."""
    assert study(("study:", f"primary: {{metric: {metric}}}\nstudy:")).primary.metric == expected


@pytest.mark.parametrize(
    ("metric", "what", "right"),
    [
        ("p98", "unknown metric: p98: ", "did you mean `p9"),
        ("xyzzy", "unknown metric: xyzzy: ", "nopm, tpm, p50, p90, p95, p99, p99.9, or a coll"),
        ("block.reads_per_sec", "unknown metric", "did you mean `block.reads_per_s`?"),
        ("p99 of paymnt", "unknown transaction type `paymnt`", "did you mean `payment`?"),
        ("nopm of payment", "`nopm` is not told of a transaction type", "leave out"),
        ("pressure.full_share", "is that of one of several", "`cpu` or `io` or `memory`"),
        ("cgroup.limit_bytes", "has no ratio", "ask another"),
    ],
)
def test_an_unknown_metric_is_told_with_what_is_known(metric: str, what: str, right: str) -> None:
    """The nearest name, or where to look."""
    (only,) = told(f"{{metric: {metric}}}")
    assert what in only
    assert right in only
