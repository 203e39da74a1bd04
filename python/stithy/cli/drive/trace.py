"""`stithy drive trace`: write down each request of an emulated drive."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from stithy.cli.drive.options import DriveName
from stithy.cli.talk.options import Json, require_new
from stithy.cli.talk.render import say, show_json
from stithy.errors import UserError

if TYPE_CHECKING:
    from stithy.drives.program import FoundDrive


def trace(
    name: DriveName, file: Path | None = None, /, *, stop: bool = False, json: Json = False
) -> None:
    """Record every request of a drive in a file, until --stop.

    A record has 32 bytes: time, operation, offset, length, latency and queue depth. The format is
    described in docs/reference/drive-trace.md. The drive never waits for its trace. Requests that
    could not be recorded are counted. `stithy drive convert-trace` converts the file to Parquet,
    even while it grows.

    Examples:

        stithy drive trace data /var/tmp/data.trace
        stithy drive trace data --stop

    Parameters
    ----------
    file
        The file to write. It must not exist, and must not be on this drive.
    stop
        Stop the trace of this drive.
    """
    from stithy.drives.program import find_drive

    if (file is None) != stop:
        raise UserError(
            "neither a file nor --stop is given",
            where="stithy drive trace",
            remedy="give a new file, or --stop",
        )
    found = find_drive(name)
    if file is not None:
        _may_write(found, file)
    counts = found.control.trace(found.name, file)
    if json:
        show_json(counts.model_dump(mode="json", exclude={"answer"}))
    elif not stop:
        say(f"{name}: each request is written to {counts.path}")
    else:
        lost = f"; {counts.lost:,} could not be recorded" if counts.lost else ", none is missing"
        say(f"{counts.drive}: {counts.written:,} requests are in {counts.path}{lost}")
        say(f"read it with: stithy drive convert-trace {quote(str(counts.path))} FILE.parquet")


COMMAND = trace


def _may_write(found: "FoundDrive", file: Path) -> None:
    """Raise UserError for a file that would be lost, or whose writing would itself be traced."""
    from stithy.hosts.devices import list_devices_under

    require_new(file)
    if found.device and Path(found.device).name in list_devices_under(file.parent):
        raise UserError(
            f"it is on {found.name} itself, so each write of the trace would be traced",
            where=str(file),
            remedy="give a file on another drive",
        )
