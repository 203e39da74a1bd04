"""`stithy hammer prepare`: load the tables of a workload into an empty database."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from stithy.cli.hammer import options
from stithy.cli.hammer.options import PasswordEnv, Url
from stithy.cli.talk.options import Json, read_percent
from stithy.cli.talk.render import format_time_text, make_table, show, show_json
from stithy.errors import Exit

if TYPE_CHECKING:
    from stithy.wire.messages import PrepareSummary, ProgressMessage


def prepare(
    url: Url,
    *,
    size: str,
    password_env: PasswordEnv = None,
    workload: str | None = None,
    seed: int = 1,
    loaders: int = 2,
    compressible: str | None = None,
    duplicate: str = "0%",
    own: Annotated[tuple[str, ...], Parameter(name="--set")] = (),
    json: Json = False,
) -> Exit:
    """Create the tables of a workload in an empty database, and load them.

    Refuses a database that already has tables of these names. It does not create the database.

    Example:

    ```
    stithy hammer prepare {url} --size 10
    ```

    Parameters
    ----------
    size
        Size of the database, as the `workload` section of a study counts it: see
        docs/reference/study.md. A number, or several as KEY=NUMBER, with commas between them.
    workload
        Name of the workload; default: order-entry.
    own
        A key of the study's `workload` section and its value, as KEY=VALUE. Repeatable.
    seed
        Seed of every generated value. The same seed loads the same rows.
    loaders
        Number of connections that load in parallel.
    compressible
        Share of the text's bytes that compression saves, such as 50%, at least 26%. By default the
        text is random letters and digits, of which compression saves a quarter.
    duplicate
        Share of the text's values that have copies elsewhere in the table, such as 10%.
    """
    from stithy.wire.jobs import DataShape
    from stithy.workloads.workload import Driving

    options.require_bounds(loaders=loaders, seed=seed)
    data = DataShape(
        compressible_percent=None
        if compressible is None
        else read_percent(compressible, "--compressible"),
        duplicate_percent=read_percent(duplicate, "--duplicate"),
    )
    choice = options.read_section(workload, size, own).choice(Driving())
    progress = make_progress_line()
    with options.watch_job({"progress": progress, "warning": options.describe_warning}) as watch:
        driver = options.make_hammer(options.open_database(url, password_env))
        summary = driver.prepare(choice, seed=seed, loaders=loaders, data=data, watch=watch)
    if json:
        show_json(summary.model_dump(mode="json"))
    else:
        show(describe_prepared(summary))
    return Exit.OK


def make_progress_line() -> "Callable[[ProgressMessage], str | None]":
    """How far a long job is, once for each change of the stage or the tenth part done."""
    shown: set[tuple[str, int]] = set()

    def line(now: "ProgressMessage") -> str | None:
        mark = (now.stage, 10 * now.done // max(1, now.total))
        if mark in shown:
            return None
        shown.add(mark)
        return f"{now.stage}: {now.done} of {now.total}"

    return line


def describe_prepared(summary: "PrepareSummary") -> str:
    """Rows of each table, and how long it took."""
    rows: list[list[str]] = [[table.table, f"{table.rows:,}"] for table in summary.tables]
    times = (summary.duration_s, summary.copy_s, summary.index_s)
    whole, copied, indexed = map(format_time_text, times)
    took = f"loaded in {whole}: rows {copied}, indexes, keys and procedures {indexed}"
    return f"{make_table(['table', 'rows'], rows, '<>')}\n\n{took}\n{_describe_sample(summary)}"


def _describe_sample(summary: "PrepareSummary") -> str:
    from stithy.wire.hammer import find_text_percent

    sample = summary.sample
    saved, repeated = find_text_percent(sample)
    rows = 100 - 100 * sample.rows_compressed_bytes / sample.rows_bytes
    return (
        f"zstd saves {saved:.0f}% of the text and {rows:.0f}% of the rows; {repeated:.0f}% repeats"
    )


COMMAND = prepare
