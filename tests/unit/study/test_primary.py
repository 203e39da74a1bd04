"""The `primary` section: what is made of it, and at which key it is refused.

What is said of a wrong value is in tests/golden/errors.
"""

import pytest

from support.studies import refused, study

REPEAT = ("ramp_up", "repeat: 5\n  ramp_up")


def section(text: str) -> tuple[str, str]:
    """The change of a study that gives it this section."""
    return "study:", f"primary: {text}\nstudy:"


def test_without_a_section_all_of_it_is_left_open() -> None:
    """What is asked then is for the plan to derive."""
    primary = study().primary
    assert (primary.users, primary.metric, primary.candidates) == (None, None, None)


def test_a_margin_may_be_a_fraction_of_a_percent() -> None:
    """What one and a half percent is to one study is nothing to another."""
    assert study(section("{margin: 1.5%}")).primary.margin_percent == 1.5


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
    assert study(section(f"{{metric: {metric}}}")).primary.metric == expected


@pytest.mark.parametrize(
    ("text", "key"),
    [
        *((f"{{users: {each}}}", "users") for each in (0, 2)),
        *((f"{{blocks: {each}}}", "blocks") for each in (3, 21)),
        *((f"{{margin: {each}}}", "margin") for each in ("0%", "0.05%")),
        ("{candidates: [disk]}", "candidates"),
        ("{candidates: [disk, tape]}", "candidates[1]"),
        ("{candidates: [disk, disk]}", "candidates[1]"),
        *(
            (f"{{metric: {each}}}", "metric")
            for each in (
                "tpmc", "p98", "xyzzy", "block.reads_per_sec", "p99 of paymnt", "nopm of payment",
                "pressure.full_share", "cgroup.limit_bytes",
            )
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_study_is_refused_at_its_key(text: str, key: str) -> None:
    """One problem each."""
    assert refused(section(text)) == [f"primary.{key}"]


def test_a_limit_of_blocks_does_not_go_with_a_fixed_number() -> None:
    """One of them would be ignored."""
    assert refused(section("{blocks: 8}"), REPEAT) == ["primary.blocks"]
    assert refused(section("{users: 1}"), REPEAT) == []
