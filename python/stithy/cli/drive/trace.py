"""`stithy drive trace`: write down each request of an emulated drive."""

from pathlib import Path
from typing import TYPE_CHECKING

from stithy.cli.talk.options import Json
from stithy.cli.talk.render import say, show_json
from stithy.errors import UserError

if TYPE_CHECKING:
    from stithy.drives.found import Found
    from stithy.wire.drive.control import AnswerTrace


def trace(
    name: str,
    file: Path | None = None,
    /,
    *,
    stop: bool = False,
    json: Json = False,
) -> None:
    """Write down each request of a drive into a file, until --stop.

    Time, operation, offset, length, latency and how many were under way, in 32 bytes a request; the
    format is told in docs/reference/drive-trace.md. The drive never waits for it: what could not be
    written fast enough is counted and told. `stithy drive convert-trace` makes a Parquet file of
    it, also while it grows.

    Examples:

        stithy drive trace data /var/tmp/data.trace
        stithy drive trace data --stop

    Parameters
    ----------
    name
        The drive, by the name that `stithy drive list` shows.
    file
        A new file, on another drive.
    stop
        End the trace of this drive.
    """
    from stithy.drives.found import drive_named

    if (file is None) != stop:
        raise UserError(
            "a file or the end of a trace is needed",
            where="stithy drive trace",
            remedy="give a new file, or --stop",
        )
    found = drive_named(name)
    if file is not None:
        _may_write(found, file)
    counts = found.control.trace(found.name, file)
    if json:
        show_json(counts.model_dump(mode="json", exclude={"answer"}))
    else:
        say(_ended(counts) if stop else f"{name}: each request is written to {counts.path}")


COMMAND = trace


def _may_write(found: "Found", file: Path) -> None:
    """Raise UserError for a file that would be lost, or whose writing would itself be traced."""
    from stithy.hosts.devices import devices_under

    if file.exists() or file.is_symlink():
        raise UserError("it is there already", where=str(file), remedy="give a new file")
    if not file.parent.is_dir():
        raise UserError(
            f"{file.parent} is no directory",
            where=str(file),
            remedy=f"make it: mkdir {file.parent}",
        )
    if found.device and Path(found.device).name in devices_under(file.parent):
        raise UserError(
            f"it lies on {found.name} itself, where each write of the trace would be traced",
            where=str(file),
            remedy="give a file on another drive",
        )


def _ended(counts: "AnswerTrace") -> str:
    """How many requests are in the file, and how many are not."""
    lost = f"; {counts.lost:,} came too fast to be written" if counts.lost else ", none is missing"
    return (
        f"{counts.drive}: {counts.written:,} requests are in {counts.path}{lost}\n"
        f"read it with: stithy drive convert-trace {counts.path} FILE.parquet"
    )
