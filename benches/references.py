"""What the hammer is compared with: pgbench on the same instance, with the same number of users.

`round_trips` is the hardest to come near: rows are read so fast that an answer always waits, and
pgbench hardly ever sleeps. `same_calls` is the like for the like: the server works as long as it
does for the hammer, so that pgbench, too, is woken for each answer.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from instance import Instance
from measurements import DRIVEN, USERS, WAREHOUSES
from processes import run

BANK = "reference"
BANK_SCALE = 5


@dataclass(frozen=True)
class RoundTrips:
    """pgbench with one prepared call a transaction."""

    cpu_us_per_round_trip: float
    tps: float


def make_bank(instance: Instance) -> None:
    """pgbench's own tables."""
    instance.renew(BANK)
    pgbench = [instance.program("pgbench"), "-i", "-q", "-s", str(BANK_SCALE), BANK]
    run(pgbench, environment=instance.environment)


def round_trips(instance: Instance, duration_s: int) -> RoundTrips:
    """pgbench -S, single-row reads: the CPU that one prepared round trip costs a driver."""
    return _pgbench(instance, ["-S", "-T", str(duration_s), BANK])


def bank_tps(instance: Instance, duration_s: int) -> float:
    """pgbench's default script: how fast this machine commits small transactions."""
    instance.sql("CHECKPOINT")
    return _pgbench(instance, ["-T", str(duration_s), BANK]).tps


@dataclass(frozen=True)
class Call:
    """A call of one of the hammer's procedures, and how often of 23 calls it is made."""

    name: str
    weight: int
    sql: str


# Three numbers are drawn by pgbench, the rest is made of them by the server, so that pgbench does
# as little as a driver can. Items are sorted and differ, as the procedure wants them.
CALLS = (
    Call(
        "new-order",
        10,
        """SELECT order_id, total, brand_lines FROM new_order(
            :warehouse, :district, :number, now(), 1::smallint,
            ARRAY(SELECT :number + 3000 * n FROM generate_series(0, 9) n),
            array_fill(:warehouse::integer, ARRAY[10]), array_fill(5::smallint, ARRAY[10]),
            array_fill(0::smallint, ARRAY[10]), 0::smallint, false)""",
    ),
    Call(
        "payment",
        10,
        """SELECT * FROM payment(
            :warehouse, :district, :warehouse, :district, :number, NULL, 12.34, now())""",
    ),
    Call("order-status", 1, "SELECT * FROM order_status(:warehouse, :district, :number, NULL)"),
    Call("delivery", 1, "SELECT delivery(:warehouse, :district, now())"),
    Call("stock-level", 1, "SELECT stock_level(:warehouse, :district, 15::smallint)"),
)


def same_calls(instance: Instance, folder: Path, duration_s: int) -> RoundTrips:
    """pgbench with prepared calls of the procedures that the hammer calls, in its mix."""
    instance.sql("CHECKPOINT")
    files = [f"--file={_script(folder, call)}@{call.weight}" for call in CALLS]
    options = ["--no-vacuum", "--max-tries=10", "-T", str(duration_s)]
    return _pgbench(instance, [*options, *files, DRIVEN])


def _script(folder: Path, call: Call) -> Path:
    highest = {"warehouse": WAREHOUSES, "district": 10, "number": 3000}
    draws = [f"\\set {name} random(1, {high})" for name, high in highest.items()]
    path = folder / f"{call.name}.sql"
    path.write_text("\n".join([*draws, " ".join(call.sql.split()) + ";", ""]))
    return path


def _pgbench(instance: Instance, options: Sequence[str]) -> RoundTrips:
    fixed = [instance.program("pgbench"), "-M", "prepared", "-c", str(USERS), "-j", "1"]
    ended = run([*fixed, *options], environment=instance.environment)
    count = _number(r"number of transactions actually processed: (\d+)", ended.stdout)
    return RoundTrips(ended.cpu_s / count * 1e6, _number(r"tps = ([\d.]+)", ended.stdout))


def _number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    if not found:
        raise ValueError(f"no {pattern!r} in {text!r}")
    return float(found[1])
