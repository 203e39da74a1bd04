"""Reading thresholds: what the grammar takes, and every mistake with its place and remedy."""

import pytest

from stithy.study.thresholds import NotAThreshold, parse_threshold
from stithy.thresholds import Constant, Measured, Threshold
from support.sample_thresholds import NAMES
from support.studies import problems, study, study_text

DISK = Measured("disk", "nopm", 4)
MEMORY = Measured("memory", "nopm", 4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("disk.nopm_at_4 >= 5000", Threshold(DISK, ">=", Constant(5000.0, "1/min"))),
        ("disk.nopm_at_4>=100/s", Threshold(DISK, ">=", Constant(6000.0, "1/min"))),
        (
            "memory.nopm_at_4 >= 1.2 * disk.nopm_at_4",
            Threshold(MEMORY, ">=", Measured("disk", "nopm", 4, factor=1.2)),
        ),
        (
            "disk.nopm_at_4*2<memory.nopm_at_4",
            Threshold(Measured("disk", "nopm", 4, factor=2.0), "<", MEMORY),
        ),
        (
            "5 ms >= disk.stock-level.p95_at_13",
            Threshold(
                Constant(0.005, "s"), ">=", Measured("disk", "p95", 13, "stock-level")
            ),
        ),
        (
            "disk.payment.p99.9_at_13 <= 5 s",
            Threshold(Measured("disk", "p99.9", 13, "payment"), "<=", Constant(5.0, "s")),
        ),
        (
            "disk.block.reads_per_s_at_4 >= 5000",
            Threshold(Measured("disk", "block.reads_per_s", 4), ">=", Constant(5000.0, "1/s")),
        ),
        (
            "disk.block.reads_per_s_at_4 >= 6000/min",
            Threshold(Measured("disk", "block.reads_per_s", 4), ">=", Constant(100.0, "1/s")),
        ),
        (
            "disk.sda.block.write_bytes_per_s_at_4 <= 64 MiB/s",
            Threshold(
                Measured("disk", "block.write_bytes_per_s", 4, "sda"), "<=",
                Constant(2.0**26, "B/s"),
            ),
        ),
        (
            "disk.cgroup.used_bytes_at_4 < 1 GiB",
            Threshold(Measured("disk", "cgroup.used_bytes", 4), "<", Constant(2.0**30, "B")),
        ),
        (
            "disk.io.pressure.some_share_at_4 < 12.5%",
            Threshold(Measured("disk", "pressure.some_share", 4, "io"), "<",
                      Constant(0.125, "share")),
        ),
        (
            "disk.block.queue_length_at_4 < 8",
            Threshold(Measured("disk", "block.queue_length", 4), "<", Constant(8.0, "")),
        ),
        (
            "disk.data.drive.write_p99.9_at_4 < 1 ms",
            Threshold(Measured("disk", "drive.write_p99.9", 4, "data"), "<",
                      Constant(0.001, "s")),
        ),
        (
            "disk.all.p99_at_1 <= 900us",
            Threshold(Measured("disk", "p99", 1, "all"), "<=", Constant(900 * 1e-6, "s")),
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
    assert plain.left == Measured(name, "nopm", 4, factor=2.0)
    assert typed.left == Measured(name, "p95", 4, "payment")


@pytest.mark.parametrize(
    ("text", "wrong", "what", "right"),
    [
        ("dsk.nopm_at_4 > 5", "dsk", "unknown candidate", "did you mean `disk`?"),
        ("disk.nopn_at_4 > 5", "nopn", "unknown metric", "did you mean `nopm`?"),
        ("disk.nopm_at_5 > 5", "5", "a level that the study does not have", "1, 4, 13"),
        ("disk.nopm_at_ > 5", "_", "a level that the study does not have", "1, 4, 13"),
        ("disk.pay.p95_at_4 < 5 s", "pay", "unknown transaction type", "did you mean `payment`?"),
        ("disk.payment.nopm_at_4 > 5", "payment", "not told of a transaction type", "leave out"),
        ("disk.nopm_at_4 > 5 ms", "5 ms", "a unit that does not fit `nopm`", "such as 5000"),
        (
            "disk.block.write_bytes_per_s_at_4 > 5", "5",
            "a unit that does not fit `block.write_bytes_per_s`", "such as 64 MiB/s",
        ),
        (
            "disk.nopm_at_4 > disk.p95_at_4", "disk.nopm_at_4",
            "a unit that does not fit `p95`", "told in a time",
        ),
        (
            "disk.block.read_latency_at_4 < 5 ms", "block.read_latency",
            "unknown metric", "did you mean `block.read_latency_s`?",
        ),
        (
            "disk.pressure.some_share_at_4 < 5%", "pressure.some_share", "one of several",
            "say of which: `cpu` or `io` or `memory`",
        ),
        (
            "disk.disk.pressure.some_share_at_4 < 5%", "disk.pressure.some_share_at_4"[:4],
            "`pressure.some_share` has no `disk`", "one of cpu, io, memory",
        ),
        (
            "disk.logs.drive.read_p99_at_4 < 5 ms", "logs", "unknown role of a drive",
            "did you mean `log`?",
        ),
        (
            "disk.database.last_checkpoint_at_s_at_4 < 5 s", "database.last_checkpoint_at_s",
            "has no ratio", "ask another",
        ),
        ("disk.p95_at_4 > 5", "5", "a unit that does not fit `p95`", "such as 5 ms"),
        ("disk.p95_at_4 > 5 MiB", "5 MiB", "a unit that does not fit `p95`", "such as 5 ms"),
        ("disk.p95_at_4 > 5 mes", "5 mes", "not a number with a unit", "use us, ms, s"),
        ("disk.nopm_at_4 > 5,000", "5,000", "not a number", "5000 or 0.5"),
        ("disk.nopm_at_4 > 1e3", "1e3", "not a value, `1e3`", "such as disk.nopm_at_1"),
        ("disk.nopm_at_4 > -5", "-5", "not a number with a unit", "a number with a unit"),
        ("disk.nopm_at_4 = 5", "=", "not a relation, `=`", "one of >=, <=, >, <"),
        ("disk.nopm_at_4 ≥ 5", "≥", "not a relation, `≥`", "one of >=, <=, >, <"),
        ("1 < disk.nopm_at_4 < 5", "<", "more than one relation", "write two thresholds"),
        ("disk.nopm_at_4", "disk.nopm_at_4", "without a relation", "one of >=, <=, >, <"),
        ("disk.nopm_at_4 >", ">", "nothing after `>`", "a threshold is"),
        ("disk.nopm > 5", "disk.nopm", "not a value", "such as disk.nopm_at_1"),
        ("disk > 5", "disk", "not a value", "such as disk.nopm_at_1"),
        ("nopm_at_4 > 5", "nopm_at_4", "a value without its candidate", "disk.nopm_at_4"),
        ("5 > 4", "5 > 4", "without a measured value", "such as"),
        ("disk.nopm_at_4 > 0 * memory.nopm_at_4", "0", "not a factor, `0`", "above 0"),
        ("2 * 3 > disk.nopm_at_4", "3", "not a value, `3`", "a metric and a level"),
        ("* disk.nopm_at_4 > 5", "* disk.nopm_at_4", "not a product", "a number, a star"),
        (
            "disk.nopm_at_4 > 2 * disk.nopm_at_4", "disk.nopm_at_4 > 2 * disk.nopm_at_4",
            "a value held against itself", "name two",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_told_at_its_characters(text: str, wrong: str, what: str, right: str) -> None:
    """What is wrong, what would be right, and where in the text it stands."""
    with pytest.raises(NotAThreshold) as caught:
        parse_threshold(text, NAMES)
    (mistake,) = caught.value.mistakes
    assert text[mistake.start : mistake.end] == wrong
    assert what in mistake.what
    assert right in mistake.right


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
