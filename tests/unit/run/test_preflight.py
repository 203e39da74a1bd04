"""All that can fail is found before a run."""

from dataclasses import replace
from pathlib import Path

import pytest

from fakes.clock import FakeClock
from fakes.engine import FakeEngine
from fakes.machine import FakeMachine
from stithy.database.engine import Installation
from stithy.errors import PreconditionError, UserError
from stithy.hosts.activity import Activity, BusyProcess
from stithy.hosts.runner import LocalRunner
from stithy.plan.expand import expand, nulled
from stithy.registry import plugins
from stithy.results.layout import RunDirectory
from stithy.run.context import KEEPER
from stithy.run.events import Event, Note
from stithy.run.preparation.equip import keeper_in
from stithy.run.preparation.forecast import keep_added_s
from stithy.run.preparation.preflight import (
    Preflight,
    cautions,
    check_candidates,
    check_directory,
    check_room,
    memory_available_bytes,
    not_delivered,
    preflight,
)
from stithy.run.start import default_directory, start_run
from stithy.run.stop import Stop
from stithy.storage.provider import ROLES, Room, Site
from stithy.storage.providers.path import Spec, create
from stithy.study.load import read_study
from support.faked_run import FakedRun
from support.running import write_study

GIB = 2**30


def check(tmp_path: Path, available_gib: float = 1, **free_gib: tuple[str, float, bool]) -> None:
    """Check the room of candidates, each given as file system, free GiB, whether it is memory."""
    study = write_study(tmp_path / "s.yaml", {name: tmp_path / name for name in free_gib})
    read = read_study(study).study
    rooms = {
        name: (Room(filesystem, int(free * GIB), memory, Path("/" + filesystem)),)
        for name, (filesystem, free, memory) in free_gib.items()
    }
    check_room(read, expand(read), rooms, int(available_gib * GIB))


def test_room_on_a_shared_file_system_is_added_up(tmp_path: Path) -> None:
    """Each would fit alone, both do not."""
    check(tmp_path, a=("one", 0.7, False), b=("two", 0.7, False))
    with pytest.raises(PreconditionError, match="candidates a and b: .* may be needed on /one"):
        check(tmp_path, a=("one", 0.7, False), b=("one", 0.7, False))


def test_the_master_copy_needs_room_beside_the_results(tmp_path: Path) -> None:
    """Where they share a file system with a candidate it is added up."""
    read = read_study(write_study(tmp_path / "s.yaml", {"a": tmp_path / "a"})).study
    room = Room("one", round(0.7 * GIB), False, Path("/one"))
    check_room(read, expand(read), {"a": (room,)}, GIB)
    with pytest.raises(PreconditionError, match="candidate a, and --out, for the master copy"):
        check_room(read, expand(read), {"a": (room,), KEEPER: (room,)}, GIB)


def test_the_two_directories_of_a_null_study_are_on_one_file_system(tmp_path: Path) -> None:
    """Beside a mount point lies another one, and the two would not be alike."""
    read = nulled(read_study(write_study(tmp_path / "s.yaml", {"a": tmp_path / "a"})).study)
    plan = expand(read, null=True)

    def check(second: Path) -> None:
        places = {"a": tmp_path / "a", "a-again": second}
        providers = {name: create(Spec(path=place), name) for name, place in places.items()}
        keeper = keeper_in(RunDirectory(tmp_path / "out"))
        check_candidates(read, plan, providers, keeper, LocalRunner(), None)

    check(tmp_path / "a-again")
    with pytest.raises(PreconditionError, match="is not on the file system of"):
        check(Path("/dev/shm/stithy-again"))


@pytest.mark.needs_drive
def test_the_two_drives_of_a_null_study_are_alike(tmp_path: Path) -> None:
    """Each image has a name of its own and lies on no file system that the other could share."""
    path = tmp_path / "s.yaml"
    write_study(path, {"a": tmp_path / "a"})
    path.write_text(path.read_text().replace(f"{{path: {tmp_path / 'a'}}}", "{drive: gp3}"))
    read = nulled(read_study(path).study)
    drive = plugins("provider")["drive"]
    site = Site(LocalRunner(), dict.fromkeys(ROLES, GIB), tmp_path, dict.fromkeys(ROLES, 1))
    providers = {
        name: drive.create(each.spec, name, site) for name, each in read.candidates.items()
    }
    keeper = keeper_in(RunDirectory(tmp_path / "out"))
    check_candidates(read, expand(read, null=True), providers, keeper, LocalRunner(), None)


def test_volumes_in_memory_are_checked_against_memory(tmp_path: Path) -> None:
    """A file system in memory may promise more than there is."""
    check(tmp_path, 2, a=("shm", 1000.0, True))
    check(tmp_path, 0.1, a=("disk", 1000.0, False))
    with pytest.raises(PreconditionError, match="of memory, the server's included"):
        check(tmp_path, 0.5, a=("shm", 1000.0, True))


def test_drives_in_memory_are_refused_where_they_do_not_fit_beside_the_server(
    tmp_path: Path,
) -> None:
    """All of them together, at their whole size, however little is written."""
    study = read_study(
        write_study(tmp_path / "s.yaml", {"a": tmp_path / "a", "b": tmp_path / "b"})
    ).study
    place = Path("/run/a")
    rooms = {
        name: (Room(f"image of {name}", None, True, place, takes_bytes=4 * GIB),) for name in "ab"
    }
    check_room(study, expand(study), rooms, 9 * GIB)
    with pytest.raises(PreconditionError, match="8.19 GiB may be needed of memory") as caught:
        check_room(study, expand(study), rooms, 8 * GIB)
    assert "a directory as `backing`" in caught.value.remedy


def test_available_memory_is_read_from_the_kernel(tmp_path: Path) -> None:
    """MemAvailable, not MemFree: caches can be dropped."""
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemFree: 1 kB\nMemAvailable: 4 kB\n")
    assert memory_available_bytes(tmp_path) == 4096


def test_results_go_to_a_new_or_empty_directory_outside_of_the_candidates(tmp_path: Path) -> None:
    """Nothing is overwritten, nothing is measured along."""
    providers = {"a": create(Spec(path=tmp_path / "a"), "a")}
    check_directory(tmp_path / "out", providers)
    (tmp_path / "out").mkdir()
    check_directory(tmp_path / "out", providers)
    (tmp_path / "out/x").touch()
    for wrong in (
        *(tmp_path / "out", tmp_path / "out/x", tmp_path / "out/x/y", tmp_path / "a/out"),
        tmp_path,
    ):
        with pytest.raises(UserError):
            check_directory(wrong, providers)


def test_the_default_directory_tells_study_and_time() -> None:
    """In UTC, sortable."""
    now_s = FakeClock(1_795_220_000.0).now_s()
    assert default_directory(Path("x/demo.yaml"), now_s) == Path("runs/demo-20261121T001320Z")


def checked(tmp_path: Path, machine: FakeMachine, engine: FakeEngine | None = None) -> Preflight:
    """All checks of a study with two unusable places, on a made-up machine."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/photo.jpg").touch()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/report.html").touch()
    study = write_study(
        tmp_path / "s.yaml", {"a": tmp_path / "no/such", "b": tmp_path / "mine"}, users=(1,)
    )
    tools = replace(
        FakedRun(tmp_path, engine=engine or FakeEngine()).tools, machine=lambda: machine
    )
    return preflight(read_study(study), RunDirectory(tmp_path / "out"), "1", tools, clean=False)


class Refusing(FakeEngine):
    """An engine that refuses its settings."""

    def check(self) -> Installation:
        """Never there."""
        raise UserError("it refuses shred_buffers", where="database.settings", remedy="correct it")


def test_every_check_is_made_whatever_the_others_find(tmp_path: Path) -> None:
    """Settings, memory, both candidates and the results' directory: one round of repairs."""
    meminfo = {"/proc/meminfo": "MemTotal: 131072 kB\nMemAvailable: 65536 kB"}
    found = checked(tmp_path, FakeMachine(texts=meminfo), Refusing())
    problems = [each.problem for each in found.problems.found]
    assert [text for text in problems if "shred_buffers" in text]
    assert [text for text in problems if "no does not exist" in text]
    assert [text for text in problems if "photo.jpg" in text]
    assert [text for text in problems if "this machine has 128 MiB" in text]
    assert [text for text in problems if "is not an empty directory" in text]
    assert len(problems) == 5
    assert found.equipped is None
    refusal = found.problems.refusal("s.yaml")
    assert refusal is not None
    assert (refusal.exit, len(refusal.parts())) == (3, 5)


def test_what_only_changes_results_is_a_warning(tmp_path: Path) -> None:
    """A busy machine, a limit that cannot be set, a server that holds the whole database."""
    busy = Activity(1.0, 0.9, 0.0, (BusyProcess("cargo", 7, 1.8),), {"vda": 0.5})
    machine = FakeMachine(
        doing=busy, no_memory_limit="no control group can be created in /sys/fs/cgroup"
    )
    warnings = " | ".join(checked(tmp_path, machine).warnings)
    assert "not quiet: CPUs 90% busy: cargo (7)" in warnings
    assert "not quiet: vda 50% of the time" in warnings
    assert "cannot be enforced here (no control group can be created in /sys/fs/cgroup)" in warnings
    study = write_study(tmp_path / "large.yaml", {"a": tmp_path / "a"})
    study.write_text(study.read_text().replace("192 MiB", "900 MiB"))
    [large] = cautions(read_study(study).study, FakeMachine())
    assert "memory of 900 MiB holds the whole database" in large


def test_a_run_warns_of_a_busy_machine_before_it_starts(tmp_path: Path) -> None:
    """The note comes before the first step, and the run goes on."""
    busy = Activity(1.0, 0.9, 0.0, (BusyProcess("cargo", 7, 1.8),), {})
    run = FakedRun(tmp_path)
    tools = replace(run.tools, machine=lambda: FakeMachine(doing=busy))
    study = write_study(tmp_path / "s.yaml", {"a": tmp_path / "a"}, users=(1,))
    heard: list[Event] = []
    context = start_run(study, tmp_path / "out", Stop(), heard.append, tools)
    context.books.register.close(remove=True)
    assert [each for each in heard if isinstance(each, Note) and "cargo (7)" in each.text]


NVME = {("nvme", "read"): 92e-6, ("nvme", "write"): 21e-6, ("nvme", "flush"): 15e-6}


def test_times_that_no_drive_keeps_here_are_told_before_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the least that any request takes under load, until a run knows better."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path))
    [told] = not_delivered(NVME)
    assert "cannot emulate the times of drive nvme" in told
    assert "writes about 50 µs (profile: 21 µs) and flushes about 50 µs (profile: 15 µs)" in told
    assert "reads" not in told
    keep_added_s({"nvme read": 3e-6, "nvme write": 4e-6, "nvme flush": 32e-6})
    [told] = not_delivered(NVME)
    assert "under load: flushes about 47 µs (profile: 15 µs). The" in told
    assert list(not_delivered({("sata", "flush"): 40e-6})) == []
