"""Reading thresholds: what the grammar takes, and every mistake with its place and remedy."""

import pytest

from stithy.study.thresholds import NotAThreshold, parse_threshold
from stithy.thresholds import Constant, MeasuredValue, Threshold
from support.sample_thresholds import NAMES
from support.studies import problems, study, study_text

DISK = MeasuredValue("disk", "nopm", 4)
MEMORY = MeasuredValue("memory", "nopm", 4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("disk.nopm_at_4 >= 5000", Threshold(DISK, ">=", Constant(5000.0, "1/min"))),
        ("disk.nopm_at_4>=100/s", Threshold(DISK, ">=", Constant(6000.0, "1/min"))),
        (
            "memory.nopm_at_4 >= 1.2 * disk.nopm_at_4",
            Threshold(MEMORY, ">=", MeasuredValue("disk", "nopm", 4, factor=1.2)),
        ),
        (
            "disk.nopm_at_4*2<memory.nopm_at_4",
            Threshold(MeasuredValue("disk", "nopm", 4, factor=2.0), "<", MEMORY),
        ),
        (
            "5 ms >= disk.stock-level.p95_at_13",
            Threshold(
                Constant(0.005, "s"), ">=", MeasuredValue("disk", "p95", 13, "stock-level")
            ),
        ),
        (
            "disk.payment.p99.9_at_13 <= 5 s",
            Threshold(MeasuredValue("disk", "p99.9", 13, "payment"), "<=", Constant(5.0, "s")),
        ),
        (
            "disk.block.reads_per_s_at_4 >= 5000",
            Threshold(MeasuredValue("disk", "block.reads_per_s", 4), ">=", Constant(5000.0, "1/s")),
        ),
        (
            "disk.block.reads_per_s_at_4 >= 6000/min",
            Threshold(MeasuredValue("disk", "block.reads_per_s", 4), ">=", Constant(100.0, "1/s")),
        ),
        (
            "disk.sda.block.write_bytes_per_s_at_4 <= 64 MiB/s",
            Threshold(
                MeasuredValue("disk", "block.write_bytes_per_s", 4, "sda"), "<=",
                Constant(2.0**26, "B/s"),
            ),
        ),
        (
            "disk.cgroup.used_bytes_at_4 < 1 GiB",
            Threshold(MeasuredValue("disk", "cgroup.used_bytes", 4), "<", Constant(2.0**30, "B")),
        ),
        (
            "disk.io.pressure.some_share_at_4 < 12.5%",
            Threshold(MeasuredValue("disk", "pressure.some_share", 4, "io"), "<",
                      Constant(0.125, "share")),
        ),
        (
            "disk.block.queue_length_at_4 < 8",
            Threshold(MeasuredValue("disk", "block.queue_length", 4), "<", Constant(8.0, "")),
        ),
        (
            "disk.data.drive.write_p99.9_at_4 < 1 ms",
            Threshold(MeasuredValue("disk", "drive.write_p99.9", 4, "data"), "<",
                      Constant(0.001, "s")),
        ),
        (
            "disk.all.p99_at_1 <= 900us",
            Threshold(MeasuredValue("disk", "p99", 1, "all"), "<=", Constant(900 * 1e-6, "s")),
        ),
    ],
)  # fmt: skip
def test_a_threshold_is_two_values_and_a_relation(text: str, expected: Threshold) -> None:
    """Numbers, durations and rates; a factor on either side of its star; spaces or none."""
    assert parse_threshold(text, NAMES) == expected


@pytest.mark.parametrize("name", ["log-on-nvme", "13", "1e3", "5ms", "v1.2", "a.payment.b"])
def test_a_candidate_may_be_called_anything(name: str) -> None:
    """A name is read from its end, so dashes, dots and digits in it mean nothing."""
    names = NAMES.__class__((name,), (4,), NAMES.transactions)
    plain = parse_threshold(f"2 * {name}.nopm_at_4 >= 5", names)
    typed = parse_threshold(f"{name}.payment.p95_at_4 <= 5 s", names)
    assert plain.left == MeasuredValue(name, "nopm", 4, factor=2.0)
    assert typed.left == MeasuredValue(name, "p95", 4, "payment")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("dsk.nopm_at_4 > 5", "dsk"),
        ("disk.nopn_at_4 > 5", "nopn"),
        ("disk.nopm_at_5 > 5", "5"),
        ("disk.nopm_at_ > 5", "_"),
        ("disk.pay.p95_at_4 < 5 s", "pay"),
        ("disk.payment.nopm_at_4 > 5", "payment"),
        ("disk.nopm_at_4 > 5 ms", "5 ms"),
        ("disk.block.write_bytes_per_s_at_4 > 5", "5"),
        ("disk.nopm_at_4 > disk.p95_at_4", "disk.nopm_at_4"),
        ("disk.block.read_latency_at_4 < 5 ms", "block.read_latency"),
        ("disk.pressure.some_share_at_4 < 5%", "pressure.some_share"),
        ("disk.disk.pressure.some_share_at_4 < 5%", "disk"),
        ("disk.logs.drive.read_p99_at_4 < 5 ms", "logs"),
        ("disk.database.last_checkpoint_at_s_at_4 < 5 s", "database.last_checkpoint_at_s"),
        ("disk.p95_at_4 > 5", "5"),
        ("disk.p95_at_4 > 5 MiB", "5 MiB"),
        ("disk.p95_at_4 > 5 mes", "5 mes"),
        ("disk.nopm_at_4 > 5,000", "5,000"),
        ("disk.nopm_at_4 > 1e3", "1e3"),
        ("disk.nopm_at_4 > -5", "-5"),
        ("disk.nopm_at_4 = 5", "="),
        ("disk.nopm_at_4 ≥ 5", "≥"),
        ("1 < disk.nopm_at_4 < 5", "<"),
        ("disk.nopm_at_4", "disk.nopm_at_4"),
        ("disk.nopm_at_4 >", ">"),
        ("disk.nopm > 5", "disk.nopm"),
        ("disk > 5", "disk"),
        ("nopm_at_4 > 5", "nopm_at_4"),
        ("5 > 4", "5 > 4"),
        ("disk.nopm_at_4 > 0 * memory.nopm_at_4", "0"),
        ("2 * 3 > disk.nopm_at_4", "3"),
        ("* disk.nopm_at_4 > 5", "* disk.nopm_at_4"),
        ("disk.nopm_at_4 > 2 * disk.nopm_at_4", "disk.nopm_at_4 > 2 * disk.nopm_at_4"),
    ],
)
def test_a_mistake_is_told_at_its_characters(text: str, wrong: str) -> None:
    """Where in the text it stands; tests/golden/errors has the words."""
    with pytest.raises(NotAThreshold) as caught:
        parse_threshold(text, NAMES)
    (mistake,) = caught.value.mistakes
    assert text[mistake.start : mistake.end] == wrong
    assert mistake.what
    assert mistake.right


def test_all_mistakes_of_a_threshold_are_told_at_once() -> None:
    """Three wrong words on one side and one on the other are four mistakes."""
    with pytest.raises(NotAThreshold) as caught:
        parse_threshold("dsk.nopn_at_3 > 2 * mem.nopm_at_4", NAMES)
    assert len(caught.value.mistakes) == 4


def test_the_thresholds_of_a_study_know_its_candidates_and_levels() -> None:
    """They are checked against what else stands in the file, wherever it stands."""
    found = study(("study:", "thresholds: [disk.nopm_at_4 < memory.nopm_at_4]\nstudy:"))
    assert found.thresholds == (Threshold(DISK, "<", MEMORY),)


def test_a_mistake_in_a_study_has_line_and_column() -> None:
    """In plain and in quoted texts; beside the mistakes of other keys."""
    text = study_text() + (
        "thresholds:\n  - disk.nopm_at_4 > 5 ms\n  - 'disk.nopm_at_9 > 5'\n  - 5\n"
        "  - disk.nopm_at_4 > 5\n  - disk.nopm_at_4 > 5.0\n"
    )
    places = [problem.where for problem in problems(text)]
    assert places == [f"study.yaml:{place}" for place in ("14:22", "15:19", "16:5", "18:5")]


def test_thresholds_of_a_study_that_is_wrong_elsewhere_are_not_judged_by_it() -> None:
    """An unknown candidate is no mistake while the candidates themselves are wrong."""
    text = study_text(("{path: /var/tmp/stithy}", "{pat: x}")) + "thresholds: [a.b_at_4 > 5]\n"
    assert all("thresholds" not in str(problem) for problem in problems(text))


def test_a_text_instead_of_a_list_is_told() -> None:
    """One threshold is written as a list of one, too."""
    (problem,) = problems(study_text() + "thresholds: disk.nopm_at_4 > 5\n")
    assert "not a list" in problem.problem
