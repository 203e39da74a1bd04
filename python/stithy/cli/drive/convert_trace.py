"""`stithy drive convert-trace`: the trace of an emulated drive as Parquet."""

from pathlib import Path

from stithy.cli.talk.options import require_new
from stithy.cli.talk.render import say, show_json


def convert_trace(trace: Path, parquet: Path, /, *, json: bool = False) -> None:
    """Convert a drive's trace to Parquet: one row per request, in the order of the answers.

    The columns are arrived_s (since the start of the trace), operation, offset_bytes, length_bytes,
    latency_s, depth, is_error, is_late and is_unpaced. The command needs neither root nor the
    drive.

    Examples:

        stithy drive convert-trace data.trace data.parquet

    Parameters
    ----------
    trace
        The file that `stithy drive trace` wrote.
    parquet
        The file to write; it must not exist.
    json
        Print a summary of the trace as JSON.
    """
    from stithy.errors import convert_machine_failures
    from stithy.fio.traces import write_parquet

    require_new(parquet)
    with convert_machine_failures(str(parquet)):
        read = write_parquet(trace, parquet)
    facts = {
        "drive": read.drive,
        "requests": len(read.requests),
        "lost": read.lost,
        "is_complete": read.is_complete,
    }
    if json:
        show_json(facts)
        return
    say(
        f"{parquet}: {len(read.requests):,} requests of {read.drive}"
        + (f", {read.lost:,} are missing" if read.lost else "")
        + ("" if read.is_complete else "; the trace has no end: it is active, or was cut short")
    )


COMMAND = convert_trace
