"""Questions that no run could answer are refused, with what would do."""

from pathlib import Path

import pytest

from stithy.errors import InvalidMeasurement, StithyError
from stithy.exits import Exit
from stithy.plan.answerable import check_counted, doubtful, rate_key, unanswerable
from stithy.plan.question import question
from stithy.study.load import read_study
from stithy.study.model import Study
from support.running import write_study

DISKS = {"a": Path("/var/tmp/a"), "b": Path("/var/tmp/b")}


def study(
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
    asked = study(tmp_path, "{metric: p99}", users=(4,), duration="20 s", load=load)
    [found] = errors(asked)
    assert found.exit == Exit.USAGE
    assert "needs 10,000 values in each window, and 4 users give at most 960 in 20 s" in str(found)
    assert "`duration: 3 min 50 s` would do, or ask `p50`" in found.remedy
    longer = study(tmp_path, "{metric: p99}", users=(4,), duration="230 s", load=load)
    assert errors(longer) == []


def test_what_earlier_runs_did_here_tells_more_than_the_bound(tmp_path: Path) -> None:
    """The slower candidate decides; a study that names no metric is only warned."""
    asked = study(tmp_path, "{metric: p99 of payment}", users=(4,), duration="20 s")
    assert errors(asked) == []
    rates = {rate_key(asked, "a", 4): 900.0, rate_key(asked, "b", 4): 300.0}
    [found] = errors(asked, rates)
    assert "gave about 2,609 in 20 s in earlier runs here" in found.problem
    other = study(tmp_path, "{metric: p99 of payment}", users=(5,), duration="20 s")
    assert errors(other, rates) == []
    paced = study(tmp_path, "", users=(1,), load={"pace": "keyed"})
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
    [found] = errors(study(tmp_path, f"{{metric: {metric}}}", candidates=places))
    assert expected in found.problem
    drives: dict[str, Path | str] = {"a": "{drive: generic-sata}", "b": "{drive: generic-nvme}"}
    assert errors(study(tmp_path, f"{{metric: {metric}}}", candidates=drives)) == []


def test_a_role_without_a_drive_is_refused(tmp_path: Path) -> None:
    """Of a threshold, too."""
    drives: dict[str, Path | str] = {"a": "{drive: generic-sata}", "b": "{drive: generic-nvme}"}
    asked = study(tmp_path, "{metric: drive.flush_p99 of log}", candidates=drives)
    [found] = errors(asked)
    assert "needs a drive for the log, and candidates a and b have none" in found.problem
    bound = study(tmp_path, "", thresholds=("a.drive.read_p99_at_1 < 5 ms",))
    [found] = errors(bound)
    assert found.where == "thresholds"


def test_a_threshold_is_judged_by_however_few_values(tmp_path: Path) -> None:
    """It needs no value of each window, so that no length is too short for it."""
    load = {"pace": "{think: 1 s}"}
    assert errors(study(tmp_path, "", load=load, thresholds=("a.p99_at_1 < 5 ms",))) == []


def test_the_first_window_stops_a_run_that_cannot_have_the_values(tmp_path: Path) -> None:
    """Nothing was known before; a tenth less may still come from the next window."""
    asked = study(tmp_path, "{metric: p95}", duration="10 s")
    found = question(asked, ("a", "b"))
    assert found is not None
    check_counted(asked, found, "w", 1_800)
    with pytest.raises(InvalidMeasurement, match=r"has 1,000.*`duration: 25 s` would do"):
        check_counted(asked, found, "w", 1_000)
