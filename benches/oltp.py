"""`make bench`: the workload oltp beside sysbench, on the same tables, statements and threads.

The hammer loads a database on PostgreSQL and one on MariaDB. Both programs work on it in turns.
Three figures count: transactions per second, CPU of the driver per transaction, and the share of
each kind of statement, as the server counts it. Writes `benches/results/<date>-oltp.json`.
"""

import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hammer import Line, Reference, Target, amount, say
from instance import Instance, started
from kept import NOT_VALID, TARGET_MISSED, keep
from processes import run
from stithy.wire.jobs import CheckJob, PrepareJob, RunJob, WorkloadChoice
from stithy.wire.program import HAMMER, find_program
from stithy.workloads.oltp import OltpKeys
from stithy.workloads.workload import Driving

TABLES, ROWS, USERS, SEED = 4, 25_000, 8, 20_260_101
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
        return self.instance.url("oltp")

    @property
    def sysbench(self) -> Sequence[str]:
        """For sysbench."""
        of = self.instance
        return [
            "--db-driver=pgsql", f"--pgsql-host={of.sockets}", f"--pgsql-user={of.user}",
            f"--pgsql-password={of.password}", "--pgsql-db=oltp",
        ]  # fmt: skip

    def count_statements(self) -> Mapping[str, int]:
        """By the statistics of its tables, once all sessions have reported."""
        time.sleep(1.5)
        kinds = ("idx_scan", "n_tup_upd", "n_tup_ins", "n_tup_del")
        sums = ", ".join(f"sum({kind})" for kind in kinds)
        rows = self.instance.sql(f"SELECT {sums} FROM pg_stat_user_tables", "oltp")
        return dict(zip(kinds, map(int, rows[0]), strict=True))


@dataclass(frozen=True)
class MariaDb:
    """A database of a private MariaDB, reached through a socket."""

    socket: Path
    name: str = "MariaDB"

    @property
    def url(self) -> str:
        """For the hammer."""
        return f"mariadb://stithy:anvil@localhost/oltp?socket={self.socket}"

    @property
    def sysbench(self) -> Sequence[str]:
        """For sysbench."""
        return [
            "--db-driver=mysql", f"--mysql-socket={self.socket}", "--mysql-user=stithy",
            "--mysql-password=anvil", "--mysql-db=oltp",
        ]  # fmt: skip

    def count_statements(self) -> Mapping[str, int]:
        """By its status."""
        kinds = ("Com_select", "Com_update", "Com_insert", "Com_delete", "Com_commit")
        command = ["mariadb", "--no-defaults", f"--socket={self.socket}", "-ustithy", "-panvil"]
        shown = run([*command, "-N", "-e", "SHOW GLOBAL STATUS LIKE 'Com\\_%'"]).stdout
        status = dict(line.split("\t") for line in shown.splitlines())
        return {kind: int(status[kind]) for kind in kinds}


@contextmanager
def start_mariadb(folder: Path) -> Iterator[MariaDb]:
    """A private MariaDB that is gone when the block ends."""
    data, socket, first = folder / "data", folder / "socket", folder / "first.sql"
    install = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--user=root"]
    run([*install, "--auth-root-authentication-method=normal", "--skip-test-db"])
    grant = "GRANT ALL ON *.* TO stithy@localhost"
    first.write_text(
        f"CREATE DATABASE oltp;\nCREATE USER stithy@localhost IDENTIFIED BY 'anvil';\n{grant};\n"
    )
    settings = [
        "--skip-networking", f"--socket={socket}", f"--datadir={data}", f"--init-file={first}",
        "--innodb-buffer-pool-size=512M", "--innodb-flush-log-at-trx-commit=2", "--local-infile=1",
        f"--log-error={folder / 'log'}", f"--pid-file={folder / 'pid'}", "--user=root",
    ]  # fmt: skip
    program = shutil.which("mariadbd") or "/usr/sbin/mariadbd"
    with subprocess.Popen([program, "--no-defaults", *settings]) as server:
        try:
            _wait_for(socket, server)
            yield MariaDb(socket)
        finally:
            server.terminate()
            server.wait(60)


def _wait_for(socket: Path, server: "subprocess.Popen[bytes]") -> None:
    ping = ["mariadb-admin", "--no-defaults", f"--socket={socket}", "-ustithy", "-panvil", "ping"]
    while subprocess.run(ping, capture_output=True).returncode != 0:
        if server.poll() is not None:
            raise SystemExit(f"MariaDB ended with {server.returncode}")
        time.sleep(0.2)


@dataclass(frozen=True)
class Driven:
    """One run of one program; CPU of the whole process over all its transactions."""

    tps: float
    cpu_us_per_transaction: float
    errors: int
    statements: Mapping[str, float]


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
    ended = run([str(find_program(HAMMER))], stdin=job.model_dump_json())
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
    return Driven(tps, cpu_s / done * 1e6, errors, statements)


def make_choice(mix: str) -> WorkloadChoice:
    """The workload as a study says it."""
    section = {"name": "oltp", "tables": TABLES, "rows": ROWS, "mix": mix}
    return OltpKeys.model_validate(section).choice(Driving())


@dataclass(frozen=True)
class Turns:
    """Both programs in turns with one mix on one server."""

    server: str
    mix: str
    sysbench: Sequence[Driven]
    hammer: Sequence[Driven]

    @property
    def lines(self) -> list[Line]:
        """Medians beside each other."""
        pairs = [
            ("tps", "transactions per second", "TPS", Target(1.0, at_most=False)),
            ("cpu_us_per_transaction", "driver CPU per transaction", "µs", Target(0.7)),
        ]
        lines = []
        for name, words, unit, target in pairs:
            median, other = (
                statistics.median(vars(each)[name] for each in programs)
                for programs in (self.hammer, self.sysbench)
            )
            what = f"{self.server} {self.mix}: {words}"
            lines.append(Line(what, median, unit, Reference("sysbench", other, unit), target))
        return lines

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
    """Load, then both programs in turns, with two mixes; the conditions hold afterwards."""
    say("load", server.name)
    choice = make_choice("read_write")
    program = [str(find_program(HAMMER))]
    load = PrepareJob(url=server.url, workload=choice, seed=SEED, loaders=2)
    run(program, stdin=load.model_dump_json())
    turns = []
    for mix in ("read_write", "point_select"):
        theirs, ours = [], []
        for turn in range(rounds):
            say("run", f"{server.name} {mix}, round {turn + 1} of {rounds}")
            theirs.append(drive_sysbench(server, mix, duration_s))
            ours.append(drive_hammer(server, mix, duration_s, turn + 1))
        turns.append(Turns(server.name, mix, theirs, ours))
    check = CheckJob(url=server.url, workload=choice, quick=False, after_load=False)
    broken = json.loads(run(program, stdin=check.model_dump_json()).stdout.splitlines()[-1])
    if broken["broken"]:
        raise SystemExit(f"{server.name}: conditions {broken['broken']} do not hold")
    return turns


def main() -> int:
    """Measure, show, keep."""
    quick = "--quick" in sys.argv[1:]
    duration_s, rounds = (3, 1) if quick else (10, 3)
    for program, package in {
        "sysbench": "sysbench",
        "mariadb-install-db": "mariadb-server",
    }.items():
        if shutil.which(program) is None:
            raise SystemExit(f"{program} is missing: install the package {package}")
    settings = {"shared_buffers": "512MB", "synchronous_commit": "off", "max_wal_size": "4GB"}
    with started(settings=settings) as instance:
        instance.sql("CREATE DATABASE oltp")
        turns = measure(Postgres(instance), duration_s, rounds)
    with (
        tempfile.TemporaryDirectory(prefix="stithy-bench-", dir="/var/tmp") as folder,
        start_mariadb(Path(folder)) as mariadb,
    ):
        turns += measure(mariadb, duration_s, rounds)
    lines = [line for each in turns for line in each.lines]
    for line in lines:
        beside = f"sysbench {amount(line.reference.value if line.reference else 0.0)}"
        missed = {True: "met", False: "MISSED"}.get(bool(line.met))
        print(f"{line.what:<52}{amount(line.value):>9} {line.unit:<4}{beside:<18}"
              f"{line.ratio:.2f}  {line.target}: {missed}")  # fmt: skip
    differing = [text for each in turns for text in each.differing]
    print("\n".join(differing) or "the same statements per transaction, by the servers' counters")
    if not quick:
        facts = {"tables": TABLES, "rows": ROWS, "users": USERS, "settings": settings}
        keep("oltp", facts, {"turns": turns})
    if differing or any(each.errors for turn in turns for each in turn.hammer):
        return NOT_VALID
    return TARGET_MISSED if any(line.met is False for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
