"""All that can fail is found before a run; what a machine offers; how long steps will take."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import ROOT
from fakes.engine import FakeEngine
from fakes.machine import FACTS, TEXTS, FakeMachine, place
from stithy.cli.new import _choose_margin
from stithy.cli.talk.prospects import make_outlook
from stithy.drives.profiles import load_catalogue
from stithy.engines.instance import Installation
from stithy.errors import PreconditionError, Refused, UserError
from stithy.fio import FIO
from stithy.hosts.activity import BusyProgram, MachineActivity
from stithy.hosts.host import LocalHost
from stithy.hosts.runner import LocalRunner
from stithy.metrics import find
from stithy.needs import Judgement
from stithy.plan.cost import bound_memory_bytes, sum_s
from stithy.plan.expand import expand, nullify_study
from stithy.plan.steps import Cost, Plan, Step, WindowPlan
from stithy.registry import plugins
from stithy.results.layout import RunDirectory
from stithy.results.manifest import Fact
from stithy.run import doctor, draft, equip, forecast, preflight, room
from stithy.run.draft import Wishes
from stithy.run.events import Note
from stithy.run.start import choose_directory
from stithy.run.volumes import KEEPER
from stithy.storage.provider import ROLES, Provider, Room, Site, Storage
from stithy.storage.providers.path import DirectoryStorage
from stithy.storage.volume import OpenPlace
from stithy.study.load import parse_study, read_study
from stithy.study.model import Study
from stithy.study.scenario import Scenario
from stithy.study.sections import list_sections
from support.faked_run import FakedRun
from support.points import at
from support.running import write_study

pytestmark = pytest.mark.usefixtures("own_state")
GIB = 2**30
THERE = Judgement("postgresql", "there", "15.1 in /usr/bin")
LACKS = Judgement("postgresql", "missing", "no server programs", "apt-get install it")


def _room(name: str, free_gib: float | None, *, memory: bool = False, takes: bool = False) -> Room:
    free = None if free_gib is None else round(free_gib * GIB)
    return Room(name, free, memory, Path(f"/{name}"), takes_bytes=4 * GIB if takes else None)


def test_all_must_have_room_together_on_their_file_systems_and_in_memory(tmp_path: Path) -> None:
    """The master copy too; images of drives at their whole size, beside the server."""
    one, shm = _room("one", 0.7), _room("shm", 1000, memory=True)
    images = {name: _room(f"image of {name}", None, memory=True, takes=True) for name in "ab"}
    for rooms, available_gib, problem in (
        ({"a": one, "b": _room("two", 0.7)}, 1.0, None),
        ({"a": one, "b": one}, 1.0, "candidates a and b: .* may be needed on /one"),
        ({"a": one, KEEPER: one}, 1.0, "candidate a, and --out, for the master copy"),
        ({"a": _room("disk", 1000)}, 0.1, None),
        ({"a": shm}, 2.0, None),
        ({"a": shm}, 0.5, "of memory, the server's included"),
        (images, 9.0, None),
        (images, 8.0, "8.19 GiB may be needed of memory"),
    ):
        paths = {name: tmp_path / name for name in rooms if name != KEEPER}
        study = read_study(write_study(tmp_path / "s.yaml", paths)).study
        parts = {name: (each,) for name, each in rooms.items()}
        with pytest.raises(PreconditionError, match=problem) if problem else nullcontext():
            room.check_room(study, expand(study), parts, round(available_gib * GIB))


@pytest.mark.parametrize(("rooms", "available_gib", "where", "remedy"), [
    ({"a": _room("one", 0.7), KEEPER: _room("one", 0.7)}, 1.0, "candidate a, and --out, for the "
     "results", "make room, name another directory, name another --out, or use a smaller "
     "`scenario.block-io.size`, or fewer `volumes`"),
    ({"a": _room("shm", 9, memory=True)}, 0.5, "candidate a",
     "make room, name another directory, or use a smaller `scenario.block-io.size`, or fewer "
     "`volumes`"),
])  # fmt: skip
def test_without_a_database_too_little_room_names_what_the_scenario_has(
    rooms: Mapping[str, Room], available_gib: float, where: str, remedy: str
) -> None:
    """No master copy, no server, no warehouses."""
    text = (
        "study: x?\ncandidates: {a: {path: /var/tmp/a}}\nscenario: {block-io: {profiles: [sql]}}\n"
    )
    study = parse_study("study.yaml", text.encode())
    parts = {name: (each,) for name, each in rooms.items()}
    with pytest.raises(PreconditionError) as caught:
        room.check_room(study, expand(study), parts, round(available_gib * GIB))
    assert (caught.value.where, caught.value.remedy) == (where, remedy)
    assert "server" not in str(caught.value)


def _checked(study: Study, providers: Mapping[str, Storage], root: Path) -> None:
    keeper, plan = equip.make_keeper(RunDirectory(root / "out")), expand(study, null=True)
    preflight.check_candidates(study, plan, providers, keeper, FakeMachine())


def test_the_two_directories_of_a_null_study_are_on_one_file_system(disk_place: Path) -> None:
    """Beside a mount point lies another one, and the two would not be alike."""
    study = nullify_study(
        read_study(write_study(disk_place / "s.yaml", {"a": disk_place / "a"})).study
    )
    of = {name: DirectoryStorage(disk_place / name, name) for name in ("a", "a-again")}
    _checked(study, of, disk_place)
    of["a-again"] = DirectoryStorage(Path("/dev/shm/stithy-again"), "a-again")
    with pytest.raises(PreconditionError, match="is not on the file system of"):
        _checked(study, of, disk_place)


@pytest.mark.needs_drive
def test_the_two_drives_of_a_null_study_are_alike(tmp_path: Path) -> None:
    """Each image lies on no file system that the other could share. Offered drives are shipped."""
    study = nullify_study(read_study(write_study(tmp_path / "s.yaml", {"a": "{drive: gp3}"})).study)
    site = Site(LocalRunner(), dict.fromkeys(ROLES, GIB), tmp_path, dict.fromkeys(ROLES, 1))
    made = plugins(Provider)["drive"].create
    of = {name: made(each.spec, name, site) for name, each in study.candidates.items()}
    _checked(study, of, tmp_path)
    assert set(draft.DRIVES) <= {profile.facts.name for profile in load_catalogue().profiles}


def test_results_go_to_a_new_or_empty_directory_outside_of_the_candidates(tmp_path: Path) -> None:
    """Nothing is overwritten, nothing is measured along; by default it is named in UTC."""
    providers = {"a": DirectoryStorage(tmp_path / "a", "a")}
    out = tmp_path / "out"
    preflight.check_directory(out, providers)
    out.mkdir()
    preflight.check_directory(out, providers)
    (out / "x").touch()
    for wrong in (out, out / "x", out / "x/y", tmp_path / "a/out", tmp_path):
        with pytest.raises(UserError):
            preflight.check_directory(wrong, providers)
    reported = choose_directory(Path("x/demo.yaml"), 1_795_220_000.0)
    assert reported == Path("runs/demo-20261121T001320Z")


class Refusing(FakeEngine):
    """An engine that refuses its settings."""

    def check(self) -> Installation:
        """Never there."""
        raise UserError("it refuses shred_buffers", where="database.settings", remedy="correct it")


BUSY = MachineActivity(1.0, 0.9, 0.0, (BusyProgram("cargo", 7, 0.9, 3 * 2**20),), {"vda": 0.5})
SMALL = {"/proc/meminfo": "MemTotal: 131072 kB\nMemAvailable: 65536 kB"}


def test_every_check_is_made_whatever_the_others_find(tmp_path: Path) -> None:
    """One round of repairs. What only changes results is a warning: noise, a limit that is none."""
    for used in ("mine", "out"):
        (tmp_path / used).mkdir()
        (tmp_path / used / "photo.jpg").touch()
    places = {"a": tmp_path / "no/such", "b": tmp_path / "mine"}
    study = read_study(write_study(tmp_path / "s.yaml", places, users=(1,)))
    roomy = {name: text.replace("65536", "99999999") for name, text in SMALL.items()}
    machine = FakeMachine(texts=roomy, doing=BUSY, no_memory_limit="no group can be made")
    tools = replace(FakedRun(tmp_path, engine=Refusing()).tools, host=lambda run_id: machine)
    out = RunDirectory(tmp_path / "out")
    found = preflight.check_machine(study, out, "1", tools, clean=False)
    refusal = found.problems.refusal("s.yaml")
    assert refusal is not None
    assert (refusal.exit, len(refusal.parts()), found.equipped) == (3, 5, None)
    for part in (
        "shred_buffers", "no does not exist", "photo.jpg", "this machine has 128 MiB",
        "is not an empty directory",
    ):  # fmt: skip
        assert sum(part in each.problem for each in found.problems.found) == 1, part
    warnings = " | ".join(found.warnings)
    cargo = "cargo (7) 90% CPU, 3 MiB/s"
    for part in (
        f"CPUs 90% busy: {cargo}",
        f"vda 50% of the time: {cargo}",
        "here (no group can be made)",
    ):
        assert part in warnings
    full = OpenPlace(Path("/full/x"), Path("/full"), "ext4", "8:1", 0, False, ())
    assert not list(preflight.list_cautions(study.study, FakeMachine(open_places=(full,))))
    large = write_study(tmp_path / "large.yaml", {"a": tmp_path / "a"})
    large.write_text(large.read_text().replace("192 MiB", "900 MiB"))
    [reported] = preflight.list_cautions(read_study(large).study, FakeMachine())
    assert "memory of 900 MiB holds the whole database" in reported
    more = {"a": f"{{path: {tmp_path / 'a'}}}", "b": f"{{path: {tmp_path / 'b'}, memory: 900 MiB}}"}
    own = read_study(write_study(tmp_path / "own.yaml", more)).study
    [reported] = preflight.list_cautions(own, FakeMachine())
    assert "memory of 900 MiB on b holds the whole database" in reported
    with pytest.raises(Refused) as refused:
        preflight.check_memory(own, FakeMachine(texts=SMALL))
    wheres = [each.where for each in refused.value.parts()]
    assert wheres == ["database.memory", "candidates.b.memory"]


def test_a_busy_machine_is_told_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So are times that no drive keeps here: by the least under load, until a run knows better."""
    monkeypatch.setattr("fakes.machine.FakeMachine.activity", lambda self, pids=(): BUSY)
    run = FakedRun(tmp_path)
    context = run.start()
    context.session.books.register.close(remove=True)
    context.servers.scratch.rmdir()
    assert [event for event in run.events if isinstance(event, Note) and "cargo (7)" in event.text]
    asked = {("nvme", "read"): 92e-6, ("nvme", "write"): 21e-6, ("nvme", "flush"): 15e-6}
    [reported] = preflight.describe_undelivered(asked)
    assert (
        "writes about 50 µs (profile: 21 µs) and flushes about 50 µs (profile: 15 µs)" in reported
    )
    assert "reads" not in reported
    forecast.keep_added_s({"nvme read": 3e-6, "nvme write": 4e-6, "nvme flush": 32e-6})
    [reported] = preflight.describe_undelivered(asked)
    assert "under load: flushes about 47 µs (profile: 15 µs). The" in reported
    assert list(preflight.describe_undelivered({("sata", "flush"): 40e-6})) == []


def test_what_the_demo_lacks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine is judged by its own check, whose remedy is shown. tests/golden has the parts."""
    (tmp_path / "file").touch()
    bare = FakeMachine(is_root=False, texts=TEXTS | SMALL, programs={})
    of = doctor.examine(bare, {"x": (FIO,)}, ask_engine=lambda _: LACKS, here=tmp_path / "file")
    assert {"root", "postgresql", "memory", "results"} <= {
        demo_lack.what for demo_lack in of.demo_lacks
    }
    demo = expand(read_study(ROOT / "studies/demo.yaml").study)
    assert bound_memory_bytes(demo) <= doctor.DEMO_MEMORY_BYTES

    def nobody() -> None:
        raise PreconditionError("nobody is there", where="users", remedy="make one")

    monkeypatch.setattr("stithy.hosts.host.find_server_user", nobody)
    missing = Judgement("postgresql", "missing", "users: nobody is there", "make one")
    assert doctor.judge_engine(LocalHost(), "postgresql") == missing


Check = Callable[[Study, Plan], None]


def _drafted(wishes: Wishes, machine: FakeMachine, check: Check = lambda *_: None) -> draft.Drafted:
    return draft.draft(machine, wishes, ask_engine=lambda _: THERE, check=check)


def test_a_new_study_compares_what_is_asked_for_or_else_what_the_machine_has() -> None:
    """Users grow with the CPUs, of which drives take their share; storage is read; in an hour."""
    two = (place("/a/stithy", 90), place("/b/stithy", 80, device="sdb"))
    wished = Wishes(paths=(Path("/x/one"),), drives=("gp3", "gp3"), size="7")
    x = Wishes(paths=(Path("/x"),))
    for wishes, machine, names, users, warehouses in (
        (Wishes(), FakeMachine(open_places=two), ["a", "b"], (1, 16, 32), 20),
        (Wishes(), FakeMachine(), ["var-tmp", "generic-nvme"], (1, 8, 16), 20),
        (Wishes(), FakeMachine(is_root=False), ["var-tmp", "memory"], (1, 16, 32), 20),
        (wished, FakeMachine(), ["one", "gp3", "gp3-2"], (1, 8, 16), 7),
        (Wishes(short=True), FakeMachine(), ["var-tmp", "generic-nvme"], (1, 8), 5),
        (x, FakeMachine(told=FACTS | {"cpus": 512}), ["x"], (1, 256), 20),
        (x, FakeMachine(told=FACTS | {"cpus": 1}), ["x"], (1, 2, 4), 20),
    ):
        found = _drafted(wishes, machine)
        load = found.study.load
        assert list(found.study.candidates) == names
        assert (load.users, found.study.workload.units) == (users, warehouses)
        assert (load.ramp_up_s < 10) is wishes.short
        assert sum_s(found.plan.steps)[0] <= draft.TIME_S_MAX
        kept = found.plan.database_bytes / found.study.database.memory_bytes
        assert warehouses < 20 or 2.5 < kept < 6


@pytest.mark.parametrize("scenario", plugins(Scenario))
def test_a_new_study_ends_within_an_hour_with_the_margin_that_noise_allows(
    scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the times of earlier runs, which may be longer than those that are usual.

    Of a metric that declares its margin, such as a pause, nobody knows the noise.
    """
    machine, wishes = FakeMachine(), Wishes(scenario=scenario)
    chosen = draft.draft(
        machine, wishes, ask_engine=lambda _: THERE, check=lambda *_: None,
        choose_margin=_choose_margin,
    )  # fmt: skip
    question = chosen.plan.question
    assert (question is None) == (len(chosen.study.candidates) == 1)
    if question is not None:
        expected = make_outlook(question, 2, (), chosen.plan.seed)
        known = find(question.metric)
        assert (expected is None) == (known is not None and known.negligible is not None)
        assert expected is None or expected.margin_needed is None
    assert sum_s(chosen.plan.steps)[0] <= draft.TIME_S_MAX
    slow = {step.sort: [2.0] for step in chosen.plan.steps}
    monkeypatch.setattr(draft, "read_factors", lambda: slow)
    slower = _drafted(wishes, machine)
    assert sum_s(slower.plan.steps)[0] > sum_s(expand(slower.study).steps)[0]


def test_candidates_on_one_device_are_named(disk_place: Path) -> None:
    """Two directories are; an image of a drive beside one is not."""
    wishes = Wishes(paths=(disk_place / "a", disk_place / "b"), drives=("gp3",), size="1")
    study = _drafted(wishes, FakeMachine()).study
    [caution] = draft.describe_cautions(FakeMachine(), study)
    assert "candidates a and b lie on the same storage" in caution


@pytest.mark.parametrize("scenario", plugins(Scenario))
def test_a_new_study_of_any_scenario_has_the_sections_that_it_needs(scenario: str) -> None:
    """Its own keys have the values of their examples; what it has no use for is refused."""
    found = _drafted(Wishes(scenario=scenario, short=True), FakeMachine())
    assert (found.study.scenario.name, bool(found.plan.steps)) == (scenario, True)
    sections = list_sections(scenario)
    for wishes, section in (
        (Wishes(engine="postgresql", scenario=scenario), "database"),
        (Wishes(size="3", scenario=scenario), "workload"),
    ):
        assert (getattr(found.study, f"given_{section}") is not None) is (section in sections)
        if section not in sections:
            with pytest.raises(UserError, match=f"{scenario} has no {section}"):
                _drafted(wishes, FakeMachine())


def test_a_new_study_has_the_workload_that_is_asked_for(fakes: Path) -> None:
    """With its key for the size, and no key of another."""
    found = _drafted(Wishes(workload="counter", size="groups=2,counters=9"), FakeMachine())
    assert (found.study.workload.name, found.study.workload.units) == ("counter", 18)
    assert "  groups: 2\n" in found.text
    assert "  counters: 9\n" in found.text
    fitting = _drafted(Wishes(workload="counter"), FakeMachine()).study.workload
    assert fitting.size["groups"] == 10, "the example"
    assert fitting.size["counters"] > 1000
    with pytest.raises(UserError, match="'9' is not a size of counter: give groups=NUMBER,"):
        _drafted(Wishes(workload="counter", size="9"), FakeMachine())
    assert "warehouse" not in found.text


def test_a_new_study_needs_what_its_scenario_needs() -> None:
    """What is missing is reported before a file is written."""
    found = _drafted(Wishes(scenario="block-io"), FakeMachine())
    without = FakeMachine(programs={"stithy-hammer": "stithy-hammer 0.1.0"})
    with pytest.raises(PreconditionError, match="scenario block-io: fio: .*install"):
        draft.check_here(without, found.study, found.plan)


def test_the_largest_that_fits_is_taken_or_the_reason_told(disk_place: Path) -> None:
    """Smaller databases, then fewer candidates. Half of the memory is left to others."""

    def fits(warehouses: int, candidates: int) -> Check:
        def check(study: Study, plan: Plan) -> None:
            if study.workload.units > warehouses or len(study.candidates) > candidates:
                named = " ".join(study.candidates)
                raise PreconditionError(f"no room for {named}", where="here", remedy="use less")

        return check

    assert _drafted(Wishes(), FakeMachine(), fits(2, 9)).study.workload.units == 2
    one = _drafted(Wishes(), FakeMachine(), fits(99, 1)).study
    assert list(one.candidates) == ["var-tmp"]
    with pytest.raises(PreconditionError, match="no room for var-tmp generic-nvme"):
        _drafted(Wishes(), FakeMachine(), fits(0, 0))
    with pytest.raises(PreconditionError, match="--path"):
        _drafted(Wishes(), FakeMachine(open_places=(), is_root=False))
    with pytest.raises(PreconditionError, match="no server programs: apt-get install it"):
        draft.draft(FakeMachine(), Wishes(), ask_engine=lambda _: LACKS)
    found = _drafted(Wishes(paths=(disk_place / "stithy",), size="1"), FakeMachine())
    draft.check_here(FakeMachine(), found.study, found.plan)
    small = FakeMachine(texts=TEXTS | {"/proc/meminfo": "MemAvailable: 409600 kB"})
    with pytest.raises(PreconditionError, match="more than half"):
        draft.check_here(small, found.study, found.plan)
    (disk_place / "photo.jpg").touch()
    mine = Wishes(paths=(disk_place,), size="1")
    with pytest.raises(PreconditionError, match="photo"):
        draft.draft(FakeMachine(), mine, ask_engine=lambda _: THERE)


def test_offers_are_named_after_their_mounts_by_names_that_a_study_takes() -> None:
    """The root's is the system's; names are unique, whatever a directory is called."""
    root = replace(place("/var/tmp/stithy", 9), mount_point=Path("/"))
    twice = place("/Data 1/stithy", 5), place("/data.1/stithy", 4)
    found = draft.offer_places(FakeMachine(open_places=(root, *twice)))
    assert [each.name for each in found] == ["system", "data-1", "data-1-2"]
    assert found[0].lines == {"path": "/var/tmp/stithy"}
    assert found[0].note == "ext4 on vda, 9 GiB free"
    rest = (
        "database: {engine: postgresql, memory: 1 GiB}\nload: {users: [1], duration: 1 s}\n"
        "workload: {name: order-entry, warehouses: 1}\n"
    )
    for path in ("/a/true", "/a/7200", "/a/---", "/", f"/a/{'x' * 200}", "/a/Ä", "/a/a b"):
        name = draft.offer_directory(Path(path), ["at"]).name
        text = f"study: q?\ncandidates: {{{name}: {{path: /x}}}}\n{rest}"
        assert list(parse_study("s", text.encode()).candidates) == [name]


def _step(kind: str, candidate: str, time_s: float) -> Step:
    """A step with this estimate, and twice as much as its bound; of a window 25 s are fixed."""
    window = WindowPlan("w", candidate, at(1), 0, 0, 5.0, 20.0, 1, ("hammer",), checkpoint=True)
    cost = Cost(time_s, 2 * time_s, 0, 0)
    return Step("id", kind, candidate, cost, window if kind == "window" else None)


def test_a_step_misses_its_estimate_as_those_like_it_did() -> None:
    """Of its candidate first, of any else, of earlier runs at last; never by one odd step."""
    known = forecast.Forecast({"check": [0.5]})
    assert known.left_s([_step("restore", "a", 4), _step("check", "a", 2)]) == 5
    known.learn(_step("restore", "a", 4), 12.0)
    assert known.left_s([_step("restore", "a", 2), _step("restore", "b", 2)]) == 12
    known.learn(_step("restore", "b", 4), 4.0)
    assert known.expected_s(_step("restore", "b", 2)) == 2
    for odd_s in (12.0, 4000.0):
        known.learn(_step("restore", "a", 4), odd_s)
    assert known.expected_s(_step("restore", "a", 2)) == 6
    known.learn(_step("window", "a", 29), 33.0)
    assert known.expected_s(_step("window", "b", 27)) == 29
    other = _step("window", "a", 29)
    assert other.window is not None
    cut = replace(other, window=replace(other.window, activities=("cut",)))
    assert known.expected_s(cut) == 29  # what happens in it says how long it takes besides
    assert known.expected_s(other) == 33
    known.learn(_step("check", "a", 2), 6.0)
    assert known.expected_s(_step("check", "b", 2)) == 6
    assert (known.knows("check"), known.knows("prepare")) == (True, False)
    forecast.keep_learned(known.learned)
    later = forecast.Forecast(forecast.read_factors())
    assert later.expected_s(_step("check", "z", 1)) == 3
    plan = Plan(1, (_step("check", "a", 2),), "a")
    for factor, bound_s in ((1.5, 4.0), (5.0, 10.0)):
        [shown] = forecast.correct_plan(plan, forecast.Forecast({"check": [factor]})).steps
        assert shown.cost == Cost(2.0 * factor, bound_s, 0, 0)


def test_what_runs_have_shown_is_kept_side_by_side_and_may_be_lost(own_state: Path) -> None:
    """Each adds to its own section, of which the last count; what cannot be read teaches none."""
    forecast.keep_noise("nopm", 0.01)
    forecast.keep_learned({"check": [9.0] * forecast.KEPT}, {"disk": 500.0})
    forecast.keep_learned({"check": [1.0] * (forecast.KEPT - 1)})
    forecast.keep_added_s({"nvme flush": 32e-6, "nvme read": -5e-6})
    forecast.keep_noise("nopm", 0.03)
    forecast.keep_noise("p95", 0.2)
    forecast.keep_added_s({"nvme flush": 20e-6})
    noise = forecast.read_noise
    assert (noise("nopm"), noise("p95")) == ([0.01, 0.03], [0.2])
    assert forecast.read_factors() == {"check": [9.0, *[1.0] * (forecast.KEPT - 1)]}
    assert forecast.read_rates() == {"disk": 500.0}
    assert forecast.read_added_s() == {"nvme flush": 20e-6, "nvme read": -5e-6}
    for content in ("", "{", "[]", '{"version": 2, "noise": {}}', '{"version": 1}'):
        (own_state / "durations.json").write_text(content)
        lost = (forecast.read_factors(), noise("nopm"), forecast.read_added_s())
        assert lost == ({}, [], {}), content


def test_each_change_of_a_machine_is_told_with_both_values() -> None:
    """What may change between two windows anyway is not in its fingerprint."""
    facts: dict[str, str | int] = {"kernel": "6.1.0", "cpus": 2, "memory_bytes": 8 * GIB, "x": 1}
    before = equip.make_fingerprint(
        {key: Fact(value=each) for key, each in facts.items()}, {"x": "1"}
    )
    assert before == {
        "kernel": "6.1.0", "architecture": None, "CPU": None, "number of CPUs": 2,
        "memory": 8 * GIB, "x": "1",
    }  # fmt: skip
    for name, value, reported in (
        ("kernel", "6.1.0", ()),
        ("memory", 8 * GIB - 2**20, ()),  # a boot took a little more of it for itself
        ("kernel", "6.2.0", ("kernel: 6.1.0 before, 6.2.0 now",)),
        ("memory", 4 * GIB, ("memory: 8 GiB before, 4 GiB now",)),
        ("hammer", "2.0", ("hammer: not known before, 2.0 now",)),
    ):
        assert equip.describe_changes(before, {**before, name: value}) == reported
