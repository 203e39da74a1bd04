"""`stithy drive compare`: an emulated drive held against the drive that its profile was made of."""

from pathlib import Path
from typing import TYPE_CHECKING

from stithy.cli.drive.measured import comparison, steps
from stithy.cli.hammer.options import Json, measured
from stithy.cli.render import show, show_json
from stithy.cli.until_interrupted import until_interrupted
from stithy.exits import Exit

if TYPE_CHECKING:
    from stithy.drives.measure.compare import Compared


def compare(
    profile: str,
    /,
    *,
    duration: str = "3min",
    size: str | None = None,
    json: Json = False,
) -> Exit:
    """Raise the emulated drive of a profile, measure it as the real one was, print both.

    IOPS and the median may differ by a tenth, the 99th percentile by a fifth; the exit code is 99
    where one differs by more. The measurement of the real drive lies beside the profile, where
    `stithy drive profile` puts it. Where the emulation itself takes longer than the real drive, no
    profile can make up for it.

    Example: `stithy drive compare measured-vda.toml`

    Parameters
    ----------
    profile
        A profile's file.
    duration
        Time for all of it.
    size
        Size of the emulated drive, which lies in memory; default: what was measured of the real
        one, at most 2 GiB.
    """
    from stithy.drives.measure import emulated, kept
    from stithy.drives.measure.compare import compared
    from stithy.drives.measure.measuring import plan_again
    from stithy.drives.measure.points import schedule
    from stithy.drives.profiles import find_profile
    from stithy.drives.program import need_root
    from stithy.drives.spec import DriveSpec
    from stithy.hosts.runner import LocalRunner

    duration_s, runner = measured(duration), LocalRunner()
    found = find_profile(profile, runner=runner)
    real = kept.read(kept.beside(Path(profile)))
    timing = schedule(duration_s, len(real.matrix), sustained=False)
    need_root()
    spec = DriveSpec(
        name=emulated.name_of_process(),
        profile=found.text,
        size_bytes=drive_bytes(size, real.target.span_bytes),
        seed=real.seed,
    )
    with until_interrupted() as stop:
        plan = plan_again(real, timing)
        again = emulated.measure_emulated(spec, plan, runner, steps(stop))
    rows = compared(real, again)
    if json:
        show_json(as_json(rows))
    else:
        show(f"{comparison(rows)}\n\n{verdict(rows)}")
    return Exit.THRESHOLD if any(each.missed() for each in rows) else Exit.OK


def drive_bytes(size: str | None, span_bytes: int) -> int:
    """How large the emulated drive is. Raises UserError."""
    from stithy.cli.drive.profile import span_bytes as parsed
    from stithy.drives.measure.emulated import SIZE_BYTES

    return parsed(size) or min(span_bytes, SIZE_BYTES)


def as_json(rows: tuple["Compared", ...]) -> dict[str, object]:
    """Every row with its ratios, for programs."""
    from dataclasses import asdict

    from stithy.drives.measure.compare import TOLERANCES

    points = [
        asdict(each)
        | {"ratios": {name: each.ratio(name) for name in TOLERANCES}, "missed": each.missed()}
        for each in rows
    ]
    return {"tolerances": TOLERANCES, "points": points}


def verdict(rows: tuple["Compared", ...]) -> str:
    """How many are within their tolerances."""
    within = sum(not each.missed() for each in rows)
    mark = "✓" if within == len(rows) else "✗"
    return f"{mark} {within} of {len(rows)} within 10% of IOPS and median and 20% of the p99"


COMMAND = compare
