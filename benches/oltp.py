"""`make bench`: the workload oltp beside sysbench, on the same tables, statements and threads.

The hammer loads a database on PostgreSQL and one on MariaDB. Both programs work on it in turns.
Three figures count: transactions per second, CPU of the driver per transaction, and the share of
each kind of statement, as the server counts it. Writes `benches/results/<date>-oltp.json`.
"""

import json
import os
import re
import shutil
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from hammer import Line, Reference, Target, amount, say
from instance import Instance, started
from kept import NOT_VALID, TARGET_MISSED, keep
from mariadb import PASSWORD, USER, MariaDb, start_mariadb
from processes import find_hammer, run
from stithy.wire.jobs import CheckJob, PrepareJob, RunJob, WorkloadChoice
from stithy.workloads.oltp import OltpKeys
from stithy.workloads.workload import Driving

TABLES, ROWS, USERS, SEED = 4, 25_000, 8, 20_260_101
DATABASE, MIXES = "oltp", ("read_write", "point_select")
SETTINGS = {"shared_buffers": "512MB", "synchronous_commit": "off", "max_wal_size": "4GB"}
SHARE_MOST = 0.03
"""So much may a count of the server differ between the two; planning of PostgreSQL counts, too."""


class Server(Protocol):
    """A seam: a running server with a database, and how both programs reach it."""

    @property
    def name(self) -> str:
        """For people."""

    @property
    def url(self) -> str:
        """For the hammer."""

    @property
    def sysbench(self) -> Sequence[str]:
        """For sysbench."""

    def count_statements(self) -> Mapping[str, int]:
        """What the server has counted so far, by kind of statement."""


@dataclass(frozen=True)
class Postgres:
    """A database of a private PostgreSQL."""

    instance: Instance
    name: str = "PostgreSQL"

    @property
    def url(self) -> str:
        """For the hammer."""
        return self.instance.url(DATABASE)

    @property
    def sysbench(self) -> Sequence[str]:
        """For sysbench."""
        of = self.instance
        return [
            "--db-driver=pgsql", f"--pgsql-host={of.sockets}", f"--pgsql-user={of.user}",
            f"--pgsql-password={of.password}", f"--pgsql-db={DATABASE}",
        ]  # fmt: skip

    def count_statements(self) -> Mapping[str, int]:
        """By the statistics of the tables that both use, once all sessions have reported."""
        time.sleep(1.5)
        kinds = ("idx_scan", "n_tup_upd", "n_tup_ins", "n_tup_del")
        sums = ", ".join(f"sum({kind})" for kind in kinds)
        of = "FROM pg_stat_user_tables WHERE relname LIKE 'sbtest%'"
        rows = self.instance.sql(f"SELECT {sums} {of}", DATABASE)
        return dict(zip(kinds, map(int, rows[0]), strict=True))


@dataclass(frozen=True)
class Maria:
    """A database of a private MariaDB."""

    server: MariaDb
    name: str = "MariaDB"

    @property
    def url(self) -> str:
        """For the hammer."""
        return self.server.url(DATABASE)

    @property
    def sysbench(self) -> Sequence[str]:
        """For sysbench."""
        return [
            "--db-driver=mysql", f"--mysql-socket={self.server.socket}", f"--mysql-user={USER}",
            f"--mysql-password={PASSWORD}", f"--mysql-db={DATABASE}",
        ]  # fmt: skip

    def count_statements(self) -> Mapping[str, int]:
        """By its status."""
        status = dict(self.server.sql("SHOW GLOBAL STATUS LIKE 'Com\\_%'"))
        kinds = ("Com_select", "Com_update", "Com_insert", "Com_delete", "Com_commit")
        return {kind: int(status[kind]) for kind in kinds}


@dataclass(frozen=True)
class Driven:
    """One run of one program; CPU of the whole process over all its transactions."""

    tps: float
    cpu_us_per_transaction: float
    errors: int
    statements: Mapping[str, float]
    load_average: float
    """Of the machine, one minute's, when it ended: above the users, others were at work."""


def drive_sysbench(server: Server, mix: str, duration_s: int) -> Driven:
    """sysbench's own script on the tables."""
    command = [
        "sysbench", f"oltp_{mix}", *server.sysbench, f"--tables={TABLES}", f"--table-size={ROWS}",
        f"--threads={USERS}", f"--time={duration_s}", "--rand-type=uniform", "run",
    ]  # fmt: skip
    before = server.count_statements()
    ended = run(command)
    after = server.count_statements()
    done = _read_number(r"transactions:\s+(\d+)", ended.stdout)
    errors = _read_number(r"ignored errors:\s+(\d+)", ended.stdout)
    tps = _read_number(r"transactions:.*\((\d+\.\d+) per sec", ended.stdout)
    return _make_driven(tps, ended.cpu_s, int(done), int(errors), before, after)


def _read_number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    if not found:
        raise ValueError(f"sysbench does not say {pattern}: {text}")
    return float(found[1])


def drive_hammer(server: Server, mix: str, duration_s: int, seed: int) -> Driven:
    """The hammer on the same tables; its users begin without a ramp-up, as sysbench's do."""
    job = RunJob(
        url=server.url, workload=make_choice(mix), seed=seed, users=USERS, ramp_up_s=0.0,
        duration_s=duration_s, isolation="read-committed", error_limit=10,
    )  # fmt: skip
    before = server.count_statements()
    ended = run([find_hammer()], stdin=job.model_dump_json())
    after = server.count_statements()
    summary = json.loads(ended.stdout.splitlines()[-1])
    if not summary["complete"]:
        raise ValueError(f"the hammer did not complete: {summary}")
    (kind,) = summary["transactions"]
    tps = kind["committed"] / (summary["measure_to_s"] - summary["measure_from_s"])
    return _make_driven(tps, ended.cpu_s, summary["commits"], kind["errors"], before, after)


def _make_driven(
    tps: float, cpu_s: float, done: int, errors: int,
    before: Mapping[str, int], after: Mapping[str, int],
) -> Driven:  # fmt: skip
    statements = {kind: (after[kind] - before[kind]) / done for kind in after}
    return Driven(tps, cpu_s / done * 1e6, errors, statements, os.getloadavg()[0])


def make_choice(mix: str) -> WorkloadChoice:
    """The workload as a study says it."""
    section = {"name": "oltp", "tables": TABLES, "rows": ROWS, "mix": mix}
    return OltpKeys.model_validate(section).choice(Driving())


@dataclass(frozen=True)
class Turns:
    """Both programs with one mix on one server, in pairs."""

    server: str
    mix: str
    sysbench: Sequence[Driven]
    hammer: Sequence[Driven]

    @property
    def lines(self) -> list[Line]:
        """Medians beside each other; the ratio is the median of the pairs' ratios."""
        pairs = [
            ("tps", "transactions per second", "TPS", Target(1.0, at_most=False)),
            ("cpu_us_per_transaction", "driver CPU per transaction", "µs", Target(0.7)),
        ]
        return [self._compare(*pair) for pair in pairs]

    def _compare(self, name: str, words: str, unit: str, target: Target) -> Line:
        ours, theirs = (
            [vars(driven)[name] for driven in programs] for programs in (self.hammer, self.sysbench)
        )
        ratio = statistics.median(map(float.__truediv__, ours, theirs))
        reference = Reference("sysbench", statistics.median(theirs), unit)
        what = f"{self.server} {self.mix}: {words}"
        return Line(what, statistics.median(ours), unit, reference, target, ratio)

    @property
    def differing(self) -> list[str]:
        """Statements whose number per transaction is not that of sysbench."""
        found = []
        for kind in self.hammer[0].statements:
            ours, theirs = (
                statistics.median(each.statements[kind] for each in programs)
                for programs in (self.hammer, self.sysbench)
            )
            if abs(ours - theirs) > SHARE_MOST * max(1.0, theirs):
                found.append(f"{self.server} {self.mix}: {ours:.3f} {kind}, sysbench {theirs:.3f}")
        return found


def measure(server: Server, duration_s: int, rounds: int) -> list[Turns]:
    """Load, then both programs with each mix; the conditions hold afterwards."""
    say("load", server.name)
    choice = make_choice(MIXES[0])
    load = PrepareJob(url=server.url, workload=choice, seed=SEED, loaders=2)
    run([find_hammer()], stdin=load.model_dump_json())
    turns = [measure_mix(server, mix, duration_s, rounds) for mix in MIXES]
    check = CheckJob(url=server.url, workload=choice, quick=False, after_load=False)
    ended = run([find_hammer()], stdin=check.model_dump_json())
    broken = json.loads(ended.stdout.splitlines()[-1])["broken"]
    if broken:
        raise SystemExit(f"{server.name}: conditions {broken} do not hold")
    return turns


def measure_mix(server: Server, mix: str, duration_s: int, rounds: int) -> Turns:
    """A pair a round; who begins changes, so that a drift of the machine favours neither."""
    theirs, ours = [], []
    for turn in range(rounds):
        say("run", f"{server.name} {mix}, round {turn + 1} of {rounds}")
        if turn % 2:
            ours.append(drive_hammer(server, mix, duration_s, turn + 1))
        theirs.append(drive_sysbench(server, mix, duration_s))
        if not turn % 2:
            ours.append(drive_hammer(server, mix, duration_s, turn + 1))
    return Turns(server.name, mix, theirs, ours)


def main() -> int:
    """Measure, show, keep."""
    quick = "--quick" in sys.argv[1:]
    duration_s, rounds = (3, 1) if quick else (4, 10)
    for program, package in {
        "sysbench": "sysbench",
        "mariadb-install-db": "mariadb-server",
    }.items():
        if shutil.which(program) is None:
            raise SystemExit(f"{program} is missing: install the package {package}")
    find_hammer()
    with started(settings=SETTINGS) as instance:
        instance.renew(DATABASE)
        turns = measure(Postgres(instance), duration_s, rounds)
    with start_mariadb() as mariadb:
        mariadb.renew(DATABASE)
        turns += measure(Maria(mariadb), duration_s, rounds)
    lines = [line for mix in turns for line in mix.lines]
    differing = [text for mix in turns for text in mix.differing]
    show(lines, differing)
    if not quick:
        facts = {"tables": TABLES, "rows": ROWS, "users": USERS, "settings": SETTINGS}
        keep("oltp", facts, {"turns": turns, "differing": differing})
    if differing or any(driven.errors for mix in turns for driven in mix.hammer):
        return NOT_VALID
    return TARGET_MISSED if any(line.met is False for line in lines) else 0


def show(lines: Sequence[Line], differing: Sequence[str]) -> None:
    """The table on standard output."""
    for line in lines:
        beside = f"sysbench {amount(line.reference.value if line.reference else 0.0)}"
        missed = {True: "met", False: "MISSED"}.get(bool(line.met))
        print(f"{line.what:<52}{amount(line.value):>9} {line.unit:<4}{beside:<18}"
              f"{line.ratio:.2f}  {line.target}: {missed}")  # fmt: skip
    print("\n".join(differing) or "the same statements per transaction, by the servers' counters")


if __name__ == "__main__":
    sys.exit(main())
