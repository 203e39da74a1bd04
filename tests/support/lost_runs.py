"""Made-up runs with backups and with a neighbour, as files: what users lose varies by block."""

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from fakes.hammer import FakeHammer
from stithy.point import OFF, ON, Point
from stithy.results import tables
from stithy.results.files import write_table
from stithy.results.layout import RunDirectory
from stithy.run.executor import execute
from stithy.scenarios.backup.keys import BACKUP
from stithy.scenarios.noisy_neighbour.declared import TENANT_SECONDS
from support.faked_run import FakedRun
from support.sample_run import Shape, build_run, rewrite

BACKED_UP = {users: Point.of(users=8, **{BACKUP: word}) for users, word in ((8, OFF), (9, ON))}
TENANTS = """
study: Who bears a neighbour?
candidates: {a: {path: "{root}/a"}, b: {path: "{root}/b"}}
scenario: {noisy-neighbour: {tenants: 2, rate: [300, 500]}}
database: {engine: postgresql, memory: 256 MiB}
workload: {name: order-entry, warehouses: 1}
load: {users: [2], ramp_up: 1 s, duration: 1 s, repeat: 4, calibrate: false}
"""
SECONDS = 40


def with_backups(root: Path, covered_share: float = 0.95) -> RunDirectory:
    """Four blocks; more users stand for the work of backups, of which one window had none.

    On the first candidate no window bears p99, but all together do.
    """
    run = build_run(root, Shape(users=(8, 9), repeat=4, duration_s=30, logs=True, series=False))
    for folder in sorted((root / "windows").iterdir()):
        frame = pl.read_parquet(folder / "window.parquet")
        users = int(pl.read_parquet(folder / "load.parquet")["users"][0])
        rewrite(folder / "window.parquet", frame.with_columns(point=pl.lit(str(BACKED_UP[users]))))
        window_id, block = frame["window_id"][0], frame["block"][0]
        if users == 9 and not (block == 2 and "memory" in window_id):
            values = {"duration_s": 2.0 + block, "covered_share": covered_share,
                      "restore_s": 1.5 * (block + 1)}  # fmt: skip
            named = {f"backup.{name}": value for name, value in values.items()}
            _write_values(folder, window_id, "backup", named)
    baseline = run.table("baseline")  # made at the points that windows had
    rewrite(baseline, pl.read_parquet(baseline).clear())
    return run


def with_neighbour(root: Path) -> RunDirectory:
    """Two tenants of fakes beside nobody; their seconds and the neighbour's cycles are made up."""
    root.mkdir()
    faked = beside_nobody(root, TENANTS)
    for folder in sorted((faked.out / "windows").iterdir()):
        [row] = pl.read_parquet(folder / "window.parquet").to_dicts()
        level = int(Point.parse(row["point"]).values["neighbour"])
        _write_tenants(folder, row, level)
        if level:
            told = {"asked": float(level), "offered": float(level), "achieved": 0.9 * level}
            named = {f"neighbour.{name}_per_s": value for name, value in told.items()}
            _write_values(folder, row["window_id"], "tenants", named)
            _write_cycles(folder, row)
    return RunDirectory(faked.out)


def beside_nobody(root: Path, text: str) -> FakedRun:
    """A run of tenants in which nothing works beside them: fakes read and write nothing."""
    faked = FakedRun(root, hammer=FakeHammer(sound=True), text=text)
    context = faked.start()
    steps = tuple(
        replace(step, window=replace(step.window, activities=("tenants",))) if step.window else step
        for step in context.plan.steps
        if step.kind != "lay-out-neighbour"
    )
    execute(replace(context, plan=replace(context.plan, steps=steps)), faked.deciders)
    return faked


def _write_values(folder: Path, window_id: str, activity: str, named: Mapping[str, float]) -> None:
    rows: list[dict[str, Any]] = [
        {"window_id": window_id, "activity": activity, "metric": metric, "of": "all", "count": 1,
         "value": value, "missing_because": None}
        for metric, value in named.items()
    ]  # fmt: skip
    path = folder / "values.parquet"
    write_table(path, tables.VALUES, [*pl.read_parquet(path).to_dicts(), *rows])


def _write_tenants(folder: Path, row: Mapping[str, Any], level: int) -> None:
    """With the neighbour less, and the second tenant least."""
    draw = random.Random(row["window_id"])
    rows = [
        {"window_id": row["window_id"], "tenant": f"tenant-{tenant}", "second": second,
         "at_s": row["measure_from_s"] + second, "phase": "measure",
         "completed": round(draw.gauss(100, 4) * (1 - tenant * level / 5000))}
        for tenant in (1, 2) for second in range(SECONDS)
    ]  # fmt: skip
    write_table(folder / "tenant_seconds.parquet", TENANT_SECONDS, rows)


def _write_cycles(folder: Path, row: Mapping[str, Any]) -> None:
    """Two of which the second follows at once, and a third after a rest."""
    rows = [
        {"window_id": row["window_id"], "activity": "tenants", "name": f"neighbour {number}",
         "from_s": row["measure_from_s"] + begin, "to_s": row["measure_from_s"] + begin + took,
         "outcome": "done", "invalid_because": None}
        for number, begin, took in ((1, 3.2, 6.0), (2, 9.3, 6.4), (3, 21.0, 12.5))
    ]  # fmt: skip
    write_table(folder / "spans.parquet", tables.SPANS, rows)
