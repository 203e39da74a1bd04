"""`stithy drive profile`: a real device, or a directory's, measured and described as a profile."""

import threading
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from stithy.cli.talk.options import Json, read_measured, read_size, stop_when_interrupted
from stithy.cli.talk.render import (
    UNKNOWN,
    format_rate_text,
    format_time_text,
    make_table,
    say,
    show,
    show_json,
)
from stithy.errors import PreconditionError, UserError
from stithy.fio import FIO

if TYPE_CHECKING:
    from stithy.drives.measure.measurement import DriveTarget, MeasuredPoint
    from stithy.drives.measure.measuring import ComparedFigures, MeasuringWatch
    from stithy.drives.measure.profiling import Profiled
    from stithy.fio.output import ServedRequests


def profile(
    target: Path,
    /,
    *,
    out: Path | None = None,
    name: str | None = None,
    duration: str = "10min",
    write: bool = False,
    erase: str | None = None,
    size: str | None = None,
    seed: int = 1,
    json: Json = False,
) -> None:
    """Measure a device, or the device under a directory, and write its drive profile.

    fio measures random reads of 4 KiB to 1 MiB at queue depths 1 to 64, and sequential reads. With
    `--write` it also measures writes in the same way, mixes of both, and flushed writes; a fifth of
    the time is sustained writing. The raw measurement is kept beside the profile, and `stithy drive
    compare` compares an emulated drive with it. Values that cannot be measured are marked as
    assumed.

    A device is written to only with `--write` and `--erase`. An existing file is never written to.
    In a directory the command measures a temporary file without a name, which always disappears at
    the end.

    Measuring writes wears a drive: fio writes as fast as the drive can, often over 100 GB.

    Examples:

    ```
    stithy drive profile /dev/nvme0n1
    stithy drive profile /srv/databases --write --name our-array
    stithy drive profile /dev/sdb --write --erase wwn-0x5002538e40b52a24
    ```

    Parameters
    ----------
    target
        A block device, a directory, or a file; a file is only read.
    out
        The profile to write; default: NAME.toml in the current directory.
    name
        Name of the profile: lower-case letters, digits and hyphens; default: from the device.
    duration
        Total time of the measurement.
    write
        Measure writes, too.
    erase
        Allow the device to be overwritten. Give its name in `/dev/disk/by-id`, or its serial
        number. It must hold no file system and no partitions.
    size
        How much to use, from the start; default: the whole device or file, or a temporary file of 2
        GiB.
    seed
        Seed of the order of the measured points, and of all offsets that are read and written.
    """
    from stithy.drives.measure import profiling
    from stithy.drives.measure.measurement import inspect, read_facts
    from stithy.hosts.runner import LocalRunner

    duration_s, runner = read_measured(duration), LocalRunner()
    found = inspect(target)
    chosen = name or profiling.name_for(found, read_facts(found, 0).model)
    profiling.check_name(chosen)
    file, beside = list_files(out or Path(f"{chosen}.toml"))
    need_consent(found, write=write, erase=erase)
    span_bytes = None if size is None else read_size(size, "--size")
    wanted = profiling.WantedProfile(chosen, duration_s, write, span_bytes, seed)
    with stop_when_interrupted() as stop:
        done = profiling.profile_target(found, wanted, runner, describe_steps(stop))
    file.write_text(done.text, encoding="utf-8")
    beside.write_text(f"{done.measurement.model_dump_json(indent=1)}\n", encoding="utf-8")
    if json:
        show_json({"profile": str(file), "measured": str(beside), **make_json(done)})
    else:
        show(make_text(done, file, beside))


def list_files(out: Path) -> tuple[Path, Path]:
    """The profile's file and the one beside it. Raises UserError where one of them is there."""
    from stithy.drives.measure import measurement

    beside = measurement.get_measurement_path(out)
    for path in (out, beside):
        if path.exists():
            raise UserError("the file exists already", where=str(path), remedy="give another --out")
    if not out.parent.is_dir():
        raise UserError("there is no such directory", where=str(out.parent), remedy="make it")
    return out, beside


def need_consent(target: "DriveTarget", *, write: bool, erase: str | None) -> None:
    """Raise PreconditionError unless everything that would be written to may be."""
    from stithy.hosts.runner import LocalRunner
    from stithy.storage.consent import list_stable_ids, may_erase

    if erase is not None and (not write or target.kind != "device"):
        remedy = "add --write" if target.kind == "device" else "leave --erase out"
        raise UserError("there is nothing to erase", where="--erase", remedy=remedy)
    if not write or target.kind != "device":
        return
    if erase is None:
        ids = list_stable_ids(target.path)
        raise PreconditionError(
            "measuring writes destroys what is on it",
            where=str(target.path),
            remedy=f"if you want that, add --erase and one of its ids: {', '.join(ids)}"
            if ids
            else "it has no stable id: measure a directory on it instead",
        )
    may_erase(target.path, erase, LocalRunner())


def make_json(done: "Profiled") -> dict[str, object]:
    """What was fitted, for programs; the measurement itself lies in its own file."""
    from dataclasses import asdict

    return {"name": done.name, "fit": asdict(done.fit), "notes": list(done.measurement.notes)}


def make_text(done: "Profiled", file: Path, beside: Path) -> str:
    """What was measured, what was made of it, and what to do with it."""
    named = quote(str(file))
    from stithy.units import format_duration, format_size

    fit = done.fit
    lines = [
        f"channels: {fit.channels}",
        f"maximum: {fit.read.iops_max:,.0f} reads/s, {format_size(fit.read.bytes_per_s_max)}/s read"
        + (
            ""
            if "write" in fit.assumed
            else f", {fit.write.iops_max:,.0f} writes/s, "
            f"{format_size(fit.write.bytes_per_s_max)}/s written"
        ),
        f"a flush: {format_duration(fit.flush.mean_s)}",
        *(f"assumed, {key}: {reason}" for key, reason in fit.assumed.items()),
        *done.measurement.notes,
        "",
        f"profile: {file}",
        f"measured: {beside}",
        f"start it with `stithy drive up {named}`, check it with `stithy drive compare {named}`",
    ]
    head = ["point", "of", "IOPS", "MB/s", "p50", "p99", "p99.9", "rounds"]
    rows = [row for measured in done.measurement.matrix for row in _make_rows(measured)]
    return f"{make_table(head, rows, '<<>>>>>>')}\n\n" + "\n".join(lines)


COMMAND = profile
NEEDS = (FIO,)


SAID_PARTS = 20
"""How often a long measurement says how far it is."""


def describe_steps(stop: threading.Event) -> "MeasuringWatch":
    """Says what is done now, about twenty times in all."""
    from stithy.drives.measure.measuring import MeasuringWatch

    said: set[tuple[int, int]] = set()

    def tell(what: str, done: int, total: int) -> None:
        mark = (total, SAID_PARTS * done // max(1, total))
        if mark not in said:
            said.add(mark)
            say(f"{what} ({done} of {total})" if total > 1 else what)

    return MeasuringWatch(tell, stop)


def _make_rows(measured: "MeasuredPoint") -> Iterator[list[str]]:
    from stithy.drives.measure.measuring import find_point

    name = find_point(measured).name
    for kind in ("read", "write", "flush"):
        served: ServedRequests | None = vars(measured.answer)[kind]
        if served is not None:
            times = [
                format_time_text(served.latency.find_quantile_s(share))
                for share in (0.5, 0.99, 0.999)
            ]
            megabytes = f"{served.bytes_per_s / 1e6:,.1f}" if served.moved_bytes else UNKNOWN
            iops = measured.iops_by_round
            mean = sum(iops) / len(iops)
            # How far the rounds lie apart, as a share of their mean.
            apart = (max(iops) - min(iops)) / 2 / mean if len(iops) > 1 and mean else None
            spread = "-" if apart is None else f"±{apart:.0%}"
            yield [name, kind, f"{served.iops:,.0f}", megabytes, *times, spread]
            name = ""


def compare_profiles(rows: tuple["ComparedFigures", ...]) -> str:
    """Real against emulated: each figure with the ratio, and whether it is within its tolerance."""
    head = ["point", "of", "IOPS", "emulated", "ratio", "p50", "emulated", "ratio", "p99"]
    shown = [
        [
            row.point,
            row.kind,
            *_format_pair(row, "iops"),
            *_format_pair(row, "p50_s"),
            *_format_pair(row, "p99_s"),
            "yes"
            if not row.list_missed()
            else f"NO: {', '.join(WORDS[figure] for figure in row.list_missed())}",
        ]
        for row in rows
    ]
    return make_table([*head, "emulated", "ratio", "within"], shown, "<<>>>>>>>>><")


WORDS = {"iops": "IOPS", "p50_s": "p50", "p99_s": "p99"}


def _format_pair(row: "ComparedFigures", figure: str) -> list[str]:
    real, emulated = vars(row.real)[figure], vars(row.emulated)[figure]
    ratio = row.find_ratio(figure)
    text = format_rate_text if figure == "iops" else format_time_text
    return [text(real), text(emulated), UNKNOWN if ratio is None else f"{ratio:.2f}"]
