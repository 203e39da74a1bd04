"""`stithy drive compare`: an emulated drive beside the drive that its profile was made of."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.cli.drive.profile import compare_profiles, describe_steps
from stithy.cli.talk.options import Json, read_measured, read_size, stop_when_interrupted
from stithy.cli.talk.render import show, show_json
from stithy.errors import Exit
from stithy.fio import FIO

if TYPE_CHECKING:
    from stithy.drives.measure.measuring import ComparedFigures, Reference


SEED = 1


def compare(
    profile: str, /, *, duration: str = "3min", size: str | None = None, json: Json = False
) -> Exit:
    """Start the emulated drive of a profile, measure it, and compare it with the real drive.

    The measurement of the real drive is the file beside the profile that `stithy drive profile`
    wrote. A profile without a measurement is compared with its own figures, by simulation. IOPS and
    the median latency may differ by 10 %, the 99th percentile by 20 %. The exit code is 99 if one
    differs by more. No profile can correct an emulation that takes longer than the real drive.

    Examples:

    ```
    stithy drive compare measured-vda.toml
    stithy drive compare generic-nvme
    ```

    Parameters
    ----------
    profile
        The file of a profile, or the name of a shipped one.
    duration
        Total time of the measurement.
    size
        Size of the emulated drive, which is kept in memory; default: the measured size of the real
        drive, at most 2 GiB.
    """
    from stithy.drives.control import DriveSpec
    from stithy.drives.measure import measuring as compare
    from stithy.drives.measure.measurement import schedule
    from stithy.drives.measure.measuring import MeasuringPlan, describe_other_work
    from stithy.drives.profiles import find_profile
    from stithy.drives.program import need_root
    from stithy.hosts.runner import LocalRunner

    duration_s, runner = read_measured(duration), LocalRunner()
    found = find_profile(profile, runner=runner)
    against = read_reference(profile, found.text)
    points = tuple(against.figures)
    plan = MeasuringPlan(points, schedule(duration_s, len(points), sustained=False), SEED)
    need_root()
    most_bytes = min(against.span_bytes, found.facts.capacity_bytes, compare.SIZE_BYTES)
    size_bytes = most_bytes if size is None else read_size(size, "--size")
    spec = DriveSpec(compare.name_of_process(), found.text, size_bytes, seed=SEED)
    beside = describe_other_work()
    with stop_when_interrupted() as stop:
        again = compare.measure_emulated(spec, plan, runner, describe_steps(stop))
    rows = compare.compare_points(against.figures, again)
    within = sum(not row.list_missed() for row in rows)
    verdict = (
        f"{'✓' if within == len(rows) else '✗'} {within} of {len(rows)} within 10% of IOPS and "
        "median and 20% of the p99"
    )
    differing = against.engine and against.engine != again.engine
    engines = f"by other engines: {against.engine}, emulated {again.engine}" if differing else None
    if json:
        about = {"against": against.what, "engines": engines, "other_work": beside}
        show_json({**about, **make_json(rows)})
    else:
        words = [f"against {against.what}", engines, beside, verdict]
        show(f"{compare_profiles(rows)}\n\n" + "\n".join(filter(None, words)))
    return Exit.OK if within == len(rows) else Exit.THRESHOLD


@dataclass(frozen=True)
class Against:
    """What an emulated drive is compared with: its figures, over how much, in words, by what."""

    figures: "Reference"
    span_bytes: int
    what: str
    engine: str | None = None


def read_reference(profile: str, text: str) -> Against:
    """The measurement beside a profile's file; where there is none, the profile's own figures."""
    from stithy.drives.measure import measurement
    from stithy.drives.measure import measuring as compare
    from stithy.drives.measure.measurement import list_points
    from stithy.drives.measure.measuring import SIZE_BYTES
    from stithy.drives.profiles import is_file_name, own_figures
    from stithy.wire.drive.jobs import LoadPoint

    if is_file_name(profile) and (file := measurement.get_measurement_path(Path(profile))).exists():
        real = measurement.read_measurement(file)
        what = f"the measurement of {real.target.name} on {real.at[:10]}"
        return Against(
            compare.make_measured_reference(real), real.target.span_bytes, what, real.engine
        )
    points = list_points(writing=True)
    asked = [LoadPoint(**asdict(point)) for point in points]
    shown = own_figures(text, asked, SIZE_BYTES, SEED)
    what = "the profile's own figures, simulated: there is no measurement beside the profile"
    return Against(compare.make_profile_reference(points, shown), SIZE_BYTES, what)


def make_json(rows: tuple["ComparedFigures", ...]) -> dict[str, object]:
    """Every row with its ratios, for programs."""
    from stithy.drives.measure.measuring import TOLERANCES

    points = [
        asdict(row)
        | {
            "ratios": {name: row.find_ratio(name) for name in TOLERANCES},
            "missed": row.list_missed(),
        }
        for row in rows
    ]
    return {"tolerances": TOLERANCES, "points": points}


COMMAND = compare
NEEDS = (FIO,)
