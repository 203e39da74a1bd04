"""What each block of a candidate's targets must hold at the end, kept among the results of a run.

A piece for what laid the targets out, and one for each run of fio that wrote since then.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from stithy.fio.generations import compare, laid_out, written
from stithy.fio.load import Load, Target
from stithy.fio.measure import worker_folder
from stithy.run.activities.fio.folders import folder_of, new_folder
from stithy.run.context import Context
from stithy.scenarios.block_io.plan import spec_of


def begin_generations(context: Context, candidate: str, began: Mapping[Target, float]) -> None:
    """Targets were written from end to end since these monotonic times; all before is forgotten."""
    if spec_of(context.file.study).verify:
        pieces = [laid_out(target, began_s) for target, began_s in began.items()]
        folder = new_folder(context, _name(candidate))
        pl.concat(pieces).write_parquet(folder / "laid-out.parquet")


@contextmanager
def kept_generations(
    context: Context,
    candidate: str,
    name: str,
    workers: Sequence[tuple[Target, Load]],
    folder: Path,
) -> Iterator[None]:
    """Within it fio runs in `folder`; what it has written is kept, where all is read back."""
    clock = context.session.clock
    apart_s = clock.now_s() - clock.monotonic_s()
    yield
    if not spec_of(context.file.study).verify:
        return
    apart_s = max(apart_s, clock.now_s() - clock.monotonic_s())
    pieces = [
        written(target.path, worker_folder(folder, number), apart_s)
        for number, (target, _) in enumerate(workers)
    ]
    pl.concat(pieces).write_parquet(folder_of(context, _name(candidate)) / f"{name}.parquet")


def compare_generations(context: Context, candidate: str, targets: Sequence[Target]) -> None:
    """Raise InvalidMeasurement where a block is older than what was written there last."""
    folder = folder_of(context, _name(candidate))
    pieces = [pl.read_parquet(each) for each in sorted(folder.iterdir())]
    for each in targets:
        compare(each, pieces, context.session.stop.asked)


def _name(candidate: str) -> str:
    return f"generations-{candidate}"
