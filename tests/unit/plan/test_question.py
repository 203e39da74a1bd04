"""The primary question, declared or derived; and questions that no run could answer."""

from pathlib import Path

import pytest

from stithy.analysis.verdict import statistics
from stithy.analysis.verdict.decide import MARGIN_SHARE
from stithy.errors import InvalidMeasurement, StithyError
from stithy.exits import Exit
from stithy.plan.answerable import check_counted, doubtful, rate_key, unanswerable
from stithy.plan.steps import Question, question
from stithy.study import model
from stithy.study.load import read_study
from stithy.study.model import Study
from support.running import write_study
from support.studies import study


def of(*changes: tuple[str, str]) -> Question:
    """The question of the small study after some changes."""
    read = study(*changes)
    found = question(read, tuple(read.candidates))
    assert found is not None
    return found


def declared(text: str) -> tuple[str, str]:
    """A change that adds a `primary` section."""
    return ("study:", f"primary: {text}\nstudy:")


def test_without_a_word_it_is_throughput_at_the_highest_level() -> None:
    """Of the two candidates, the second against the first, within four to twenty blocks."""
    derived = ("users", "metric", "margin_percent")
    assert of() == Question(4, "nopm", 0.02, ("disk", "memory"), 4, 20, derived)


def test_what_is_declared_is_asked() -> None:
    """And no longer told as derived."""
    text = "{users: 1, metric: p95, margin: 5%, candidates: [memory, disk], blocks: 9}"
    assert of(declared(text)) == Question(1, "p95", 0.05, ("memory", "disk"), 4, 9, derived=())


def test_users_who_say_themselves_how_much_is_done_are_asked_about_response_times() -> None:
    """Those who pause, and a rate."""
    for load in ("pace: {think: 2 s}", "rate: 10/s"):
        assert of(("ramp_up", f"{load}\n  ramp_up")).metric == "p95"


def test_of_more_than_two_candidates_the_pair_is_open_unless_it_is_named() -> None:
    """Then it is the slowest and the fastest."""
    third = ("  memory: {", "  other: {path: /srv/other}\n  memory: {")
    assert of(third).candidates is None
    assert of(third, declared("{candidates: [disk, other]}")).candidates == ("disk", "other")


def test_a_fixed_number_of_blocks_spares_none() -> None:
    """`repeat` is least and most."""
    found = of(("ramp_up", "repeat: 7\n  ramp_up"))
    assert (found.blocks_least, found.blocks_most) == (7, 7)
    assert not found.may_spare(4, 6)


def test_blocks_after_the_least_at_its_level_may_be_spared() -> None:
    """Those of other levels never."""
    assert [of().may_spare(4, block) for block in (0, 3, 4, 19)] == [False, False, True, True]
    assert not of().may_spare(1, 5)


def test_a_single_candidate_asks_nothing() -> None:
    """There is nobody to compare it with."""
    assert question(study(), ("disk",)) is None


def test_the_numbers_are_those_that_verdicts_go_by() -> None:
    """A study and analysis must not drift apart: neither may know the other."""
    assert model.BLOCKS_LEAST == statistics.BLOCKS_LEAST
    assert model.BLOCKS_MOST == statistics.BLOCKS_MOST
    assert model.MARGIN_PERCENT / 100 == MARGIN_SHARE


DISKS = {"a": Path("/var/tmp/a"), "b": Path("/var/tmp/b")}


def asking(
    folder: Path, primary: str, *, candidates: dict[str, Path | str] | None = None, **more: object
) -> Study:
    """A study with this question."""
    places = candidates or dict(DISKS)
    written = write_study(folder / "s.yaml", places, primary=primary, **more)  # type: ignore[arg-type]  # passed on
    return read_study(written).study


def errors(asked: Study, rates: dict[str, float] | None = None) -> list[StithyError]:
    """What is refused of it."""
    return list(unanswerable(asked, question(asked, tuple(asked.candidates)), rates or {}))


def test_a_percentile_for_which_users_do_too_little_is_refused_with_the_length_that_does(
    tmp_path: Path,
) -> None:
    """4 users who pause 100 ms do at most 48 transactions a second."""
    load = {"pace": "{think: 100 ms}"}
    asked = asking(tmp_path, "{metric: p99}", users=(4,), duration="20 s", load=load)
    [found] = errors(asked)
    assert found.exit == Exit.USAGE
    assert "needs 10,000 values in each window, and 4 users give at most 960 in 20 s" in str(found)
    assert "`duration: 3 min 50 s` is enough, or ask `p50`" in found.remedy
    longer = asking(tmp_path, "{metric: p99}", users=(4,), duration="230 s", load=load)
    assert errors(longer) == []


def test_what_earlier_runs_did_here_tells_more_than_the_bound(tmp_path: Path) -> None:
    """The slower candidate decides; a study that names no metric is only warned."""
    asked = asking(tmp_path, "{metric: p99 of payment}", users=(4,), duration="20 s")
    assert errors(asked) == []
    rates = {rate_key(asked, "a", 4): 900.0, rate_key(asked, "b", 4): 300.0}
    [found] = errors(asked, rates)
    assert "gave about 2,609 in 20 s in earlier runs here" in found.problem
    other = asking(tmp_path, "{metric: p99 of payment}", users=(5,), duration="20 s")
    assert errors(other, rates) == []
    paced = asking(tmp_path, "", users=(1,), load={"pace": "keyed"})
    assert errors(paced) == []
    [doubt] = doubtful(paced, question(paced, ("a", "b")), {})
    assert "95th percentile of response time needs 2,000 values" in doubt


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (
            "drive.read_p99",
            "only an emulated drive reports `drive.read_p99`, and candidates",
        ),
        ("block.read_latency_s", "candidate b has none: it is memory"),
    ],
)
def test_what_the_storage_does_not_report_is_refused(
    tmp_path: Path, metric: str, expected: str
) -> None:
    """Of directories, and of memory."""
    places: dict[str, Path | str] = {"a": Path("/var/tmp/a"), "b": Path("/dev/shm/b")}
    [found] = errors(asking(tmp_path, f"{{metric: {metric}}}", candidates=places))
    assert expected in found.problem
    drives: dict[str, Path | str] = {"a": "{drive: generic-sata}", "b": "{drive: generic-nvme}"}
    assert errors(asking(tmp_path, f"{{metric: {metric}}}", candidates=drives)) == []


def test_a_role_without_a_drive_is_refused(tmp_path: Path) -> None:
    """Of a threshold, too."""
    drives: dict[str, Path | str] = {"a": "{drive: generic-sata}", "b": "{drive: generic-nvme}"}
    asked = asking(tmp_path, "{metric: drive.flush_p99 of log}", candidates=drives)
    [found] = errors(asked)
    assert "needs a drive for the log, and candidates a and b have none" in found.problem
    bound = asking(tmp_path, "", thresholds=("a.drive.read_p99_at_1 < 5 ms",))
    [found] = errors(bound)
    assert found.where == "thresholds"


def test_a_threshold_is_judged_by_however_few_values(tmp_path: Path) -> None:
    """It needs no value of each window, so that no length is too short for it."""
    load = {"pace": "{think: 1 s}"}
    assert errors(asking(tmp_path, "", load=load, thresholds=("a.p99_at_1 < 5 ms",))) == []


def test_the_first_window_stops_a_run_that_cannot_have_the_values(tmp_path: Path) -> None:
    """Nothing was known before; a tenth less may still come from the next window."""
    asked = asking(tmp_path, "{metric: p95}", duration="10 s")
    found = question(asked, ("a", "b"))
    assert found is not None
    check_counted(asked, found, "w", 1_800)
    with pytest.raises(InvalidMeasurement, match=r"has 1,000.*`duration: 25 s` is enough"):
        check_counted(asked, found, "w", 1_000)
