"""What is measured of the hammer, and the raw copy of the rows that it loads."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from instance import Instance
from processes import find_hammer, run, run_together
from stithy.results.hlog import decode
from stithy.wire.jobs import AnyJob, CheckJob, PrepareJob, RunJob, WorkloadChoice
from stithy.workloads.order_entry import Choice

USERS = 8
WAREHOUSES = 5
LOADERS = 2
SEED = 20_260_101
DRIVEN, COPIED = "driven", "copied"
WORKLOAD = Choice(warehouses=WAREHOUSES)


class Server(Protocol):
    """A running server of any engine."""

    def url(self, database: str) -> str:
        """What the hammer needs to reach a database."""

    def renew(self, database: str) -> None:
        """Make a database empty, and settle."""

    def settle(self) -> None:
        """Let no work of before weigh on what follows."""


@dataclass(frozen=True)
class Drive:
    """One run of the hammer; CPU of the whole process over all its transactions."""

    nopm: float
    tpm: float
    cpu_us_per_transaction: float
    cpu_us_per_transaction_measured: float
    errors: int
    retries: int
    response_p95_ms: dict[str, float | None]


def prepare(instance: Server, workload: WorkloadChoice = WORKLOAD) -> float:
    """The hammer loads; the wall time of the whole program, seconds."""
    instance.renew(DRIVEN)
    url = instance.url(DRIVEN)
    return hammer(PrepareJob(url=url, workload=workload, seed=SEED, loaders=LOADERS))[1]


def drive(
    instance: Server,
    *,
    duration_s: float,
    seed: int,
    procedures: bool = True,
    ledger: Path | None = None,
) -> Drive:
    """One run with the full mix, back to back."""
    instance.settle()
    job = RunJob(
        url=instance.url(DRIVEN),
        workload=WORKLOAD.model_copy(update={"procedures": procedures}),
        seed=seed,
        users=USERS,
        ramp_up_s=3.0,
        duration_s=duration_s,
        isolation="read-committed",
        error_limit=10,
        hlog_stem=None,
        ledger=ledger,
    )
    messages, _, cpu_s = hammer(job)
    return _drive_of(messages[-1], cpu_s)


def _drive_of(summary: dict, cpu_s: float) -> Drive:  # type: ignore[type-arg]  # plain JSON
    if not summary["complete"]:
        raise ValueError(f"the hammer did not complete: {summary}")
    kinds = {kind["name"]: kind for kind in summary["transactions"]}
    minutes = (summary["measure_to_s"] - summary["measure_from_s"]) / 60
    measured = sum(kind["committed"] + kind["rolled_back"] for kind in kinds.values())
    p95_s = {name: decode(kind["response"]).percentile_s(95) for name, kind in kinds.items()}
    return Drive(
        nopm=kinds["new-order"]["committed"] / minutes,
        tpm=measured / minutes,
        cpu_us_per_transaction=cpu_s / (summary["commits"] + summary["rollbacks"]) * 1e6,
        cpu_us_per_transaction_measured=summary["driver"]["cpu_s"] / measured * 1e6,
        errors=sum(kind["errors"] for kind in kinds.values()),
        retries=sum(kind["retries"] for kind in kinds.values()),
        response_p95_ms={name: p95 and p95 * 1000 for name, p95 in p95_s.items()},
    )


def broken_conditions(
    instance: Server, *, after_load: bool, workload: WorkloadChoice = WORKLOAD
) -> list[int]:
    """Numbers of the consistency conditions that do not hold."""
    url = instance.url(DRIVEN)
    job = CheckJob(url=url, workload=workload, quick=False, after_load=after_load)
    return list(hammer(job)[0][-1]["broken"])


def hammer(job: AnyJob) -> tuple[list[dict], float, float]:  # type: ignore[type-arg]  # plain JSON
    """Do a job; its messages, wall time and CPU time, seconds."""
    ended = run([find_hammer()], stdin=job.model_dump_json())
    messages = [json.loads(line) for line in ended.stdout.splitlines()]
    return messages, ended.wall_s, ended.cpu_s


HALVES = """
COPY (
    SELECT {columns}
    FROM (
        SELECT *, ntile(2) OVER w AS half, row_number() OVER w AS place
        FROM {table} WINDOW w AS (ORDER BY {order})
    ) AS halves
    WHERE half = {half} ORDER BY place
) TO STDOUT (FORMAT binary)
"""

# A table, its columns, and the order in which its rows are best loaded: that of its primary key.
TABLES = """
SELECT c.relname,
       (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
         WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped),
       coalesce((SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY k.place)
                   FROM pg_index i, unnest(i.indkey) WITH ORDINALITY AS k (number, place),
                        pg_attribute a
                  WHERE i.indrelid = c.oid AND i.indisprimary
                    AND a.attrelid = c.oid AND a.attnum = k.number), 'ctid')
  FROM pg_class c
 WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND c.reltuples > 1
 ORDER BY c.reltuples
"""


@dataclass(frozen=True)
class Export:
    """The loaded rows as files, two of about equal size for each table."""

    folder: Path
    schema: str
    tables: tuple[str, ...]


def export(instance: Instance, folder: Path) -> Export:
    """Write the rows that the hammer loaded to binary files."""
    instance.sql("ANALYZE", DRIVEN)
    tables = []
    for table, columns, order in instance.sql(TABLES, DRIVEN):
        for half in (1, 2):
            statement = HALVES.format(table=table, columns=columns, order=order, half=half)
            psql = [
                instance.program("psql"),
                "-Xq",
                "-d",
                DRIVEN,
                "-c",
                " ".join(statement.split()),
            ]
            run([*psql, "-o", str(folder / f"{table}.{half}")], environment=instance.environment)
        tables.append(table)
    dump = [instance.program("pg_dump"), "--schema-only", "--no-owner", DRIVEN]
    return Export(folder, run(dump, environment=instance.environment).stdout, tuple(tables))


def copy_raw(instance: Instance, rows: Export) -> float:
    """Two sessions copy the same rows into tables that have their keys and indexes; seconds.

    Table after table, the two sessions at once on each; connecting is included, as it is for the
    hammer.
    """
    instance.renew(COPIED)
    instance.sql(rows.schema, COPIED)
    instance.sql("CHECKPOINT")
    return sum(_copy_table(instance, rows.folder, table) for table in rows.tables)


def _copy_table(instance: Instance, folder: Path, table: str) -> float:
    psql = [instance.program("psql"), "-Xq", "-d", COPIED, "-v", "ON_ERROR_STOP=1", "-c"]
    halves = [f"\\copy {table} FROM '{folder / table}.{half}' (FORMAT binary)" for half in (1, 2)]
    return run_together([[*psql, half] for half in halves], environment=instance.environment)
