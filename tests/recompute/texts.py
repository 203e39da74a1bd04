"""The numbers of texts that are no statements: constants of the method, and what a study gave."""

from collections.abc import Sequence

from recompute import facts
from recompute.files import Files, Row
from recompute.printed import shown

CONSTANTS = (
    0.02, 0.05, 0.1, 0.25, 1 / 3, 0.5, 0.8, 0.95, 100e-6, 1, 1.25, 1.3, 2, 3, 4, 5, 7, 15, 20, 30,
    60, 99.4, 100, 200, 800, 2_000, 10_000,
)  # fmt: skip
"""Of the method, whatever was measured."""

SIZES = (
    "SELECT unnest([database_bytes, buffer_pool_bytes, memory_limit_bytes, server_cpus]) FROM win"
)
COUNTS = """
SELECT count(*) FROM win GROUP BY candidate UNION ALL SELECT block FROM win UNION ALL
SELECT committed + rolled_back FROM tx WHERE valid UNION ALL
SELECT sum(committed + rolled_back) FROM tx WHERE valid AND transaction = 'all' GROUP BY candidate,
  users UNION ALL SELECT number FROM run_conditions
"""


def list_known(files: Files, row: Row) -> list[float]:
    """What a text may speak of that is no statement: nothing that was measured of candidates."""
    own = [value for value in row.values() if isinstance(value, int | float)]
    square = len(files.candidates) * (1 + len(files.candidates) % 2)
    rows = [float(len(each)) for each in files.told_tables]
    return [*CONSTANTS, *own, square, *rows, *facts.pool(files, {}), *files.column(SIZES),
            *files.column(COUNTS)]  # fmt: skip


def check(files: Files, text: str, row: Row, pool: Sequence[float] = ()) -> tuple[list[str], int]:
    """Numbers that are none of `pool`, or of what any text may speak of; how many there are.

    Of sentences that are statements their values are compared instead.
    """
    quoted = text
    for each in files.quotes:
        quoted = quoted.replace(each, "…" * len(each))
    numbers = list(shown(quoted))
    known = (pool or list_known(files, row)) if numbers else ()
    wrong = [f"{quoted[one.start : one.end]} in: {text}" for one in numbers
             if not any(map(one.is_of, known))]  # fmt: skip
    return wrong, len(numbers)
