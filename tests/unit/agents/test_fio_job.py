"""fio by agents: what is ordered comes back, merged it is one, and nothing outlives its lease."""

import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import pytest

from fakes.fio import FioRunner
from stithy.agents.command_job import CommandJob, hold_leash, run_command
from stithy.agents.fio_job import FioJob, gather_results, pack, run_fio, scatter_results, unpack
from stithy.agents.merging import AgentPart
from stithy.agents.orders import START_LATE_S_MAX, CommandOrder, FioOrder
from stithy.agents.serving import AgentAnswer
from stithy.errors import InfrastructureError, PreconditionError
from stithy.fio.library import find
from stithy.fio.load import FioLoad, FioTarget, split_load
from stithy.fio.measure import FioMachine, Measured, measure
from stithy.fio.output import merge_workers
from stithy.fio.program import FioProgram, Worker, run
from stithy.hosts.processes import read_identity
from stithy.hosts.runner import Command, LocalRunner
from stithy.wire.hammer import ProgressWatch
from stithy.wire.program import Lease
from support.agent_hosts import wait_until

FOUND = FioProgram("fio", "fio-3.33")
NAMES = ("h1", "h2", "h3")


@dataclass
class _Hosts:
    """Each runs its workers in folders of its own, and what they wrote comes back."""

    place: Path
    names: tuple[str, ...] = NAMES

    def run(
        self, found: FioProgram, workers: Sequence[Worker], duration_s: float, where: str,
        stop: threading.Event | None, patience_s: float,
    ) -> tuple[str, ...]:  # fmt: skip
        order = FioOrder(NAMES, "f", ProgressWatch(), found.version, workers, duration_s,
                         patience_s, where)  # fmt: skip
        files = {}
        for number, name in enumerate(NAMES):
            (folder := self.place / name).mkdir()
            parts = order.make_job(number, 0.0).parts
            ours = [unpack(part, folder / str(n)) for n, part in enumerate(parts)]
            run(FioRunner(), found, ours, duration_s, where, stop, patience_s)
            files[name] = order.place_file(name)
            gather_results(parts, ours, files[name])
        order.merge([], files)
        return tuple((worker.folder / "fio.json").read_text() for worker in workers)


@pytest.mark.parametrize("volumes", [1, 2])
def test_the_fio_of_all_agents_is_that_of_one_host(tmp_path: Path, volumes: int) -> None:
    """The same workers with the same seeds and places; the parts of agents add up to the whole."""
    pattern = find("sql").patterns[0]
    targets = [FioTarget(f"/v/{n} #", 2**24) for n in range(volumes)]
    workers = split_load(targets, FioLoad(2.0, 0.0, seed=7, logs=False), 6)

    def see(machine: FioMachine, name: str) -> Measured:
        return measure(machine, pattern, workers, tmp_path / name, targets=volumes)

    alone = FioMachine(FioRunner(), FOUND)
    (tmp_path / "hosts").mkdir()
    together = see(replace(alone, hosts=_Hosts(tmp_path / "hosts")), "b")
    assert replace(together, by_host=()) == see(alone, "a")
    assert len(together.by_host) == 3
    assert len({answers[0].count for answers in together.by_host}) == 3
    (whole,), (answer,) = merge_workers(together.by_host), together.answers
    assert whole.latency.counts_by_ns == answer.latency.counts_by_ns
    assert whole.latency.sum_s == pytest.approx(answer.latency.sum_s)
    assert whole.iops == answer.iops
    assert len(together.by_target) == (volumes if volumes > 1 else 0)


def test_what_lies_in_a_worker_s_folder_comes_and_goes(tmp_path: Path) -> None:
    """Traces and links go to the agent, results alone come back, into no other folder."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "trace.0.iolog").write_bytes(b"read 0 4096\n" * 1000)
    (here / "target-1").symlink_to("/v/odd #")
    part = pack(Worker("[a]", here))
    worker = unpack(part, tmp_path / "there")
    assert (worker.folder / "target-1").readlink() == Path("/v/odd #")
    assert (worker.folder / "trace.0.iolog").read_bytes().count(b"read") == 1000
    (worker.folder / "fio.json").write_text("{}")
    gather_results([part], [worker], tmp_path / "results")
    (back := tmp_path / "back").mkdir()
    scatter_results(tmp_path / "results", [back])
    assert [path.name for path in back.iterdir()] == ["fio.json"]


class _ShortLease(Lease):
    TERM_S = 0.5


class _Unsent(_ShortLease):
    """Its owner is gone: the stream closes."""

    def attach(self, stream: IO[str]) -> None:
        stream.close()


@pytest.mark.parametrize("lease", [_ShortLease(), _Unsent()], ids=["stopped", "gone"])
def test_a_leash_kills_what_nobody_renews(lease: Lease) -> None:
    """After its term where the agent is stopped, at once where it is gone; else nothing."""
    with subprocess.Popen(["sleep", "60"]) as process, subprocess.Popen(["sleep", "60"]) as other:
        with hold_leash(LocalRunner(), [process.pid], Lease()):
            pass
        assert process.poll() is None
        with hold_leash(LocalRunner(), [process.pid], lease):
            assert process.wait(20) == -9
        assert other.poll() is None
        other.kill()


def test_a_leash_that_is_renewed_at_its_end_fails_nothing() -> None:
    """A line that nobody reads any more is no fault of what it held."""
    lease, over = Lease(), threading.Event()

    def renew() -> None:
        while not over.is_set():
            lease.renew()

    with subprocess.Popen(["sleep", "60"]) as process, ThreadPoolExecutor(1) as pool:
        pool.submit(renew)
        try:
            for _ in range(3):
                with hold_leash(LocalRunner(), [process.pid], lease):
                    pass
        finally:
            over.set()
            process.kill()


SECRET, SPIN = "pass/word", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
TALKS = f'{SPIN}; head -c 200000 /dev/zero; echo "$WORD" | wc -c >&2; exit 3'
LINGERS = 'sleep 60 & echo $! >"$0"; sleep 60'


def test_a_command_at_an_agent_ends_as_it_does_here(tmp_path: Path) -> None:
    """Nobody reads its output; what it says, its code and its CPU time come back, no secret."""
    command = Command(["sh", "-c", TALKS], environment={"WORD": SECRET}, detached=True)
    order = CommandOrder(("h1",), "f", ProgressWatch(), command)
    assert SECRET not in f"{order}{order.order(0, 0.0, 0.0)}"
    ended = run_command(order.make_job(0, 0.0), Lease(), threading.Event(), tmp_path)
    assert (ended.code, ended.said.strip()) == (3, str(len(SECRET) + 1))
    assert 0.0 < ended.cpu_s < 2 * (ended.to_s - ended.from_s)


@pytest.mark.parametrize("lease", [_ShortLease(), _Unsent(), Lease()], ids=["late", "gone", "stop"])
def test_a_command_ends_with_all_that_it_began(tmp_path: Path, lease: Lease) -> None:
    """By its leash, or because a person stops the run."""
    job, stop = CommandJob(Command(["sh", "-c", LINGERS, str(tmp_path / "pid")])), threading.Event()
    if type(lease) is Lease:
        threading.Timer(0.5, stop.set).start()
        assert run_command(job, lease, stop, tmp_path).code == -15
    else:
        with pytest.raises(InfrastructureError, match="its lease was not renewed"):
            run_command(job, lease, stop, tmp_path)
    if (tmp_path / "pid").exists():  # it may have been gone before it began
        pid = int((tmp_path / "pid").read_text())
        wait_until(lambda: read_identity(pid) is None, 5, "its child is gone")


def test_an_agent_with_another_fio_or_a_late_one_has_no_part(tmp_path: Path) -> None:
    """What fio of another version, or another time, measures is not added."""
    job = FioJob("fio-0.1", (), 1.0, 1.0, "/v")
    with pytest.raises(PreconditionError, match=r"the host of the run fio-0\.1"):
        run_fio(job, 0.0, Lease(), threading.Event(), tmp_path)
    order = FioOrder(NAMES, "f", ProgressWatch(), "fio", [], 1.0, 1.0, "/v")

    def explain(late_s: float, file: Path | None) -> str | None:
        return order.explain_unfinished(
            AgentPart("h1", 0.0, AgentAnswer(start_late_s=late_s)), file
        )

    assert explain(0.1, tmp_path) is None
    assert "after the start" in (explain(START_LATE_S_MAX + 0.1, tmp_path) or "")
    assert explain(0.1, None) == "it gave no results"
