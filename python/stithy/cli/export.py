"""`stithy export`: the results of a run for other programs."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from stithy.cli.talk.options import RunFolder, require_plugin, require_writable
from stithy.cli.talk.render import say, show_pieces
from stithy.errors import Exit

STANDARD_OUTPUT = "-"


def export(
    directory: RunFolder,
    /,
    *,
    to: Annotated[str, Parameter(name="--to")],
    out: str = STANDARD_OUTPUT,
) -> Exit:
    """Write the results of a run in a format that another program reads.

    - `csv`: one table of windows and transaction types, for a spreadsheet.
    - `openmetrics`: every window, second and sample, for Prometheus.
    - `bencher`: JSON for Bencher.
    - `go-bench`: lines for Go's benchstat.

    Invalid windows are marked in `csv` and `openmetrics`. They are left out of `bencher` and
    `go-bench`. Standard error says how many there are. If no valid window is left, these two write
    nothing, and the exit code is 5. The command reads results only, and sends nothing over the
    network.

    Examples:

        stithy export runs/demo --to csv --out demo.csv
        stithy export runs/demo --to go-bench | benchstat -col /candidate -

    Parameters
    ----------
    to
        The format: openmetrics, bencher, go-bench or csv.
    out
        The file to write; `-` is standard output.
    """
    target = None if out == STANDARD_OUTPUT else Path(out)
    require_writable(target, "--out")
    from stithy.registry import plugins
    from stithy.report.context import make_context
    from stithy.report.exports import ExportFormat
    from stithy.results.files import read_run
    from stithy.results.layout import write_pieces_durably

    require_plugin(ExportFormat, to, f"there is no format {to!r}", "--to")
    run = read_run(directory)
    made = plugins(ExportFormat)[to].export(make_context(run))
    if target is None:
        show_pieces(made.pieces)
    else:
        write_pieces_durably(target, (piece.encode() for piece in made.pieces))
    for count, what in ((made.left_out, "left out"), (made.marked, "marked")):
        if count:
            verb = "window is" if count == 1 else "windows are"
            say(f"{count} {verb} invalid: {what}; the report gives the reasons")
    if unread := len(run.problems):
        files = "file is" if unread == 1 else "files are"
        say(f"{unread} {files} missing or damaged, and left out; the report names them")
    return Exit.OK


COMMAND = export
