"""What a study of failures plans, and which faults its candidates cannot have."""

import gzip
import json
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from fakes.clock import FakeClock
from stithy.cluster.daemons import OsdStatus, Status
from stithy.cluster.faults import FAULTS
from stithy.errors import InfrastructureError, Interrupted, PreconditionError, StithyError
from stithy.plan.expand import expand
from stithy.registry import plugins
from stithy.results.hlog import LoggedHistogram, LoggedInterval
from stithy.results.phases import Phase, find_recovery_s, is_whole, sum_phase, sum_phases
from stithy.run.activity import Times, WindowValue
from stithy.scenarios.failure.activity import FaultActivity
from stithy.scenarios.failure.declared import NOT_REACHED, UNCHECKED
from stithy.scenarios.failure.fault import FaultKeys, FaultKind, Target, TogetherKeys
from stithy.scenarios.failure.faults.volumes import explain_no_quota
from stithy.scenarios.failure.keys import FailureSpec
from stithy.scenarios.failure.levels import FaultsTogether, get_fault
from stithy.scenarios.failure.phases import list_phases
from stithy.scenarios.failure.plan import FailureScenario, find_spec
from stithy.scenarios.failure.service import bring_back, find_outage, restart_server
from stithy.storage.providers.ceph.existing import explain_unfit
from stithy.study.load import parse_study
from stithy.study.model import Study

STUDY = """study: What does a fault cost?
candidates:
  one: {one}
  two: {two}
database: {{engine: {engine}, memory: 192 MiB}}
workload: {{name: order-entry, warehouses: 1}}
load: {{users: [4], duration: 60 s, repeat: 1, {load}}}
scenario: {{failure: {{{keys}}}}}
"""


MIRROR = "{drive: gp3, count: 2, layer: {btrfs: {level: raid1}}}"
CLUSTERS = {"one": "{ceph: {policy: {ftt: 0}}}", "two": "{ceph: {}}"}
SAFE = CLUSTERS | {"one": "{ceph: {}}"}
AWAY = "host-off-with-database"


def study(
    keys: str, *, one: str = "{drive: gp3}", two: str = "{drive: io2}",
    load: str = "calibrate: false", engine: str = "postgresql",
) -> Study:  # fmt: skip
    """A study of one load under faults."""
    text = STUDY.format(keys=keys, one=one, two=two, load=load, engine=engine)
    return parse_study("study.yaml", text.encode())


@pytest.mark.parametrize(
    ("keys", "others", "problem"),
    [
        ("faults: []", {}, "not faults"),
        ("faults: [drive-slow, drive-slow]", {}, "a fault given twice"),
        ("faults: [none]", {}, "`none` among the faults"),
        ("faults: [drive-slwo]", {}, "did you mean `drive-slow`?"),
        ("faults: {drive-slow: {factor: 0.5}}", {}, "too small: 0.5"),
        ("faults: {drive-power-cut: {lost: 70%}}", {}, "more than all writes"),
        ("faults: [drive-slow+drive-slow]", {}, "a fault twice at once"),
        ("faults: {drive-slow+server-hung: {drive-hung: {}}}", {}, "not one of the faults at once"),
        ("faults: {drive-slow+drive-hung: {drive-hung: {at: 5 s}}}", {},
         "a time of drive-hung alone"),
        ("faults: {drive-slow: {for: 3 s}}, random: {count: 3}", {}, "a time beside drawn ones"),
        ("heal: 3 s, random: {count: 3}", {}, "a time beside drawn ones"),
        ("faults: {drive-slow: {at: 55 s}}", {}, "ends before the fault is healed"),
        ("during: {rate: 50%}", {"load": "rate: 100/s"}, "a rate beside a share of the maximum"),
        ("random: {count: 0}", {}, "too small: 0"),
        ("faults: {drive-gone: {factor: 2}}", {}, "unknown key"),
        ("faults: [drive-slow], at: 50 s, heal: 20 s", {}, "ends before the fault is healed"),
        ("at: 0 s", {}, "a fault at once"),
        ("faults: [drive-slow]", {"load": "ledger: false"}, "without a ledger shows no loss"),
    ],
)  # fmt: skip
def test_a_wrong_key_is_refused(keys: str, others: dict[str, str], problem: str) -> None:
    """With what is wrong, and what would be right."""
    with pytest.raises(StithyError) as refused:
        study(keys, **others)
    assert problem in refused.value.text


@pytest.mark.parametrize(
    ("fault", "others", "because"),
    [
        ("drive-hung", {"one": "{path: /tmp/x}"}, "it has no emulated drives"),
        ("{drive-slow: {drive: 2}}", {}, "it has no drive 2: the last one is 1"),
        ("drive-gone", {"one": "{drive: gp3, count: 2, layer: {md: {level: raid1}}}"},
         "only arrays of btrfs take back"),
        ("drive-gone", {"engine": "sqlite"}, "users of sqlite hold its files open"),
        ("drive-power-cut", {"engine": "sqlite"}, "run in the process of the database"),
        ("storage-full", {"one": "{path: /tmp/x}"}, "its file system may be somebody's"),
        ("quota-reached", {"one": "{path: /tmp/x}"}, "its file system may be somebody's"),
        ("quota-reached", {}, "its file system is ext4"),
        ("drive-slow+server-killed", {"one": "{path: /tmp/x}"}, "it has no emulated drives"),
        ("drive-errors+drive-read-only", {}, "both set `errors` of drive 1"),
        ("drive-stuttering+drive-scheduled", {}, "both set `schedule` of drive 1"),
        ("{drive-lost+drive-slow: {drive-slow: {drive: 2}, drive-lost: {drive: 2}}}",
         {"one": MIRROR, "two": MIRROR}, "both set `slow` of drive 2"),
        ("osd-killed", {}, "it is not on a Ceph cluster"),
        ("{osd-lost: {osd: 3}}", CLUSTERS, "it has no osd 3, only 0 to 2"),
        ("{host-partitioned: {peer: 9}}", CLUSTERS, "it has no peer 9, only 1 to 3"),
        ("{host-partitioned: {peer: 2}}", CLUSTERS, "host 2 cannot be cut off from itself"),
        ("osd-killed", {"one": "{ceph: {conf: /etc/ceph/ceph.conf, pool: p, allow_faults: true}}"},
         "with hosts of its own: it can have osd-down and osd-out"),
        ("osd-out", {"one": "{ceph: {conf: /etc/ceph/ceph.conf, pool: p}}"},
         "only `allow_faults: true` beside `conf` allows it"),
        ("server-killed", {"engine": "sqlite"}, "sqlite has no server"),
        ("{drive-slow: {drive: 4}}", CLUSTERS, "it has no drive 4: the last one is 3"),
        ("drive-lost", CLUSTERS, "of a cluster this is `osd-lost`"),
        ("drive-gone", {"one": "{ceph: {conf: /etc/ceph/ceph.conf, pool: p, allow_faults: true}}"},
         "it has no emulated drives"),
        ("drive-gone", CLUSTERS | {"engine": "sqlite"}, "users of sqlite hold its files open"),
        (AWAY, {}, "it is not on a Ceph cluster that Stithy made"),
        (AWAY, CLUSTERS, "FTT 0 (1 copy, min_size 1) cannot do without a host"),
        (f"{{{AWAY}: {{host: 4}}}}", SAFE, "it has no host 4, only 1 to 3"),
        (AWAY, SAFE | {"engine": "sqlite"}, "run in the process of the database"),
        (AWAY, SAFE | {"one": "{ceph: {}, roles: {log: {drive: gp3}}}"}, "log is on no cluster"),
    ],
)  # fmt: skip
def test_a_candidate_that_cannot_have_a_fault_is_refused(
    fault: str, others: dict[str, str], because: str
) -> None:
    """Before anything is made, each with its reason."""
    faults = fault if fault.startswith("{") else f"[{fault}]"
    with pytest.raises(StithyError) as refused:
        expand(study(f"faults: {faults}", **others))
    assert because in refused.value.text


@pytest.mark.parametrize(
    ("filesystem", "options", "because"),
    [
        ("ext4", "CONFIG_QUOTA=y\n# CONFIG_QFMT_V2 is not set\n",
         "this kernel has no quotas (CONFIG_QFMT_V2)"),
        ("xfs", "CONFIG_XFS_FS=y\n", "this kernel has no quotas (CONFIG_XFS_QUOTA)"),
        ("xfs", "CONFIG_XFS_FS=y\nCONFIG_XFS_QUOTA=y\n", "only quotas of btrfs begin"),
        ("ext4", None, "only quotas of btrfs begin"),
        ("zfs", "", "only quotas of btrfs begin"),
    ],
)  # fmt: skip
def test_a_quota_that_the_kernel_lacks_is_named(
    tmp_path: Path, filesystem: str, options: str | None, because: str
) -> None:
    """As far as the kernel tells how it was built."""
    if options is not None:
        (tmp_path / "config.gz").write_bytes(gzip.compress(f"\n{options}".encode()))
    assert because in explain_no_quota(filesystem, tmp_path / "config.gz")


def test_a_policy_without_copies_does_not_survive_lost_data() -> None:
    """What comes back after a fault is promised by any policy."""
    read = study("faults: [osd-lost, host-off]", **CLUSTERS)
    promised = {
        (name, candidate): plugins(FaultKind)[name].is_promised(read, candidate, keys)
        for name, keys in find_spec(read).faults.items()
        for candidate in read.candidates
    }
    assert [at for at, promise in promised.items() if not promise] == [("osd-lost", "one")]


@pytest.mark.parametrize(
    ("osd", "changed", "because"),
    [
        (1, {}, None),
        (7, {}, "the cluster has no osd.7, only 0, 1"),
        (1, {"up": 0}, "osd.1 is down, out or not allowed up already, and not by Stithy"),
        (1, {"in": 0, "weight": 0}, "osd.1 is down, out or"),
        (1, {"state": ["exists", "up", "noup"]}, "osd.1 is down, out or"),
        (1, {"weight": 0.85}, "osd.1 has the weight 0.85, which would be 1 afterwards"),
    ],
)
def test_an_osd_that_would_not_be_as_it_was_is_left_alone(
    osd: int, changed: dict[str, Any], because: str | None
) -> None:
    """Of somebody's cluster, whose administrator may have taken it out."""
    state = {"up": 1, "in": 1, "weight": 1.0, "state": ["exists", "up"]}
    found = explain_unfit({"osds": [{"osd": 0, **state}, {"osd": 1, **state, **changed}]}, osd)
    assert (found or "").startswith(because or "\0") is (because is not None)


STARTING, ONE = OsdStatus(0, 1, "starting", pgs=0), OsdStatus(0, 1, "active", pgs=12)
OTHER, BOTH = OsdStatus(1, 2, "active", pgs=20), OsdStatus(1, 2, "active", pgs=40)


@pytest.mark.parametrize(
    ("seen", "loss"),
    [
        ([(STARTING, OTHER)] * 50 + [(ONE, OTHER)], None),
        ([(OsdStatus(0, 1, "active"), OTHER)] * 50 + [(ONE, OTHER)], None),
        ([(ONE, BOTH)] * 50 + [(ONE, OTHER)], None),
        ([(ONE, ONE)] * 50, "8 of 32 placement groups have no copy left"),
        ([(STARTING, OTHER)] * 800, "nobody knows how many of 32 placement groups"),
    ],
    ids=["it starts", "it does not tell", "they disagree", "lost", "it never serves"],
)
def test_nothing_is_lost_before_all_osds_say_so(
    monkeypatch: pytest.MonkeyPatch, seen: list[tuple[OsdStatus, OsdStatus]], loss: str | None
) -> None:
    """A volume that counts as lost is made anew: one that is slow to come back must not."""
    clock, answers = FakeClock(), iter(seen)
    cut: list[object] = []
    stop = SimpleNamespace(pause=lambda _: None)

    def cut_off(*of: object) -> None:
        cut.append(of)

    def answer(folder: Path, entry: object) -> Status:
        clock.sleep_s(1.0)
        return Status(next(answers), 32, is_marked=False)

    monkeypatch.setattr("stithy.scenarios.failure.faults.cluster.read_status", answer)
    monkeypatch.setattr("stithy.scenarios.failure.faults.cluster.cut_image_off", cut_off)
    monkeypatch.setattr("stithy.scenarios.failure.faults.cluster.find_cluster", lambda _: (0, 0))
    session = SimpleNamespace(clock=clock, stop=stop)
    target: Any = SimpleNamespace(context=SimpleNamespace(session=session))
    fault = plugins(FaultKind)["osd-lost"]
    lost = fault.find_loss(target, fault.keys())
    assert (lost or "").startswith(loss or "\0") is (loss is not None)
    assert bool(cut) is (loss is not None)


def test_each_fault_is_a_point_beside_none() -> None:
    """In the order of the study, each with its options."""
    read = study("faults: {drive-slow: {factor: 5}, server-hung: }")
    assert [point.values["fault"] for point in read.points] == ["none", "drive-slow", "server-hung"]
    assert find_spec(read).faults["drive-slow"].model_dump()["factor"] == 5


def test_thresholds_and_questions_name_phases() -> None:
    """A pause, and what a phase has of what it has without the fault."""
    wanted = ["one.fault.pause_s_at_drive-slow <= 10 s",
              "one.degraded.fault.throughput_ratio_at_drive-slow >= 0.7",
              "one.fault.lost_work_at_drive-slow <= 500"]  # fmt: skip
    text = STUDY.format(keys="faults: [drive-slow]", one="{drive: gp3}", two="{drive: io2}",
                        load="calibrate: false", engine="postgresql")  # fmt: skip
    asked = "primary: {users: 4, metric: fault.p99_s of degraded}"
    read = parse_study("study.yaml", f"{text}{asked}\nthresholds: {wanted}".encode())
    slug = "u4-faultdrive-slow"
    assert [str(each).replace(slug, "drive-slow") for each in read.thresholds] == wanted
    assert read.primary is not None
    assert str(read.primary.metric) == "fault.p99_s of degraded"


STALE = "{drive: gp3, count: 2, layer: {btrfs: {level: raid1, checksum: false}}}"


@pytest.mark.parametrize(
    ("fault", "promised"),
    [("drive-gone", (True, False)), ("drive-corrupting", (True, False)),
     ("drive-slow", (True, True)), ("drive-power-cut", (True, True)),
     ("drive-gone+server-killed", (True, False))],
)  # fmt: skip
def test_an_array_promises_what_its_checksums_tell(fault: str, promised: tuple[bool, bool]) -> None:
    """A mirror without them may give the old data of a drive that missed a write."""
    read = study(f"faults: [{fault}]", one=MIRROR, two=STALE)
    keys = find_spec(read).get_levels()[fault]
    assert tuple(get_fault(fault).is_promised(read, of, keys) for of in ("one", "two")) == promised


def test_a_cluster_promises_what_copies_and_checksums_give() -> None:
    """Without copies nothing of a drive that breaks, without checksums not what it changes."""
    blind = "{ceph: {policy: {ftt: 1, checksum: none}}}"
    faults = (
        "drive-slow, drive-gone, drive-corrupting, drive-power-cut, drive-gone+osd-killed, "
        "drive-corrupting+osd-lost"
    )
    kept = {}
    for number, candidates in enumerate((CLUSTERS, CLUSTERS | {"one": blind})):
        read = study(f"faults: [{faults}]", **candidates)
        levels = find_spec(read).get_levels()
        for of in ("one", "two"):
            kept[number, of] = {name for name, keys in levels.items()
                                if get_fault(name).is_promised(read, of, keys)}  # fmt: skip
    assert kept[0, "two"] == {*faults.split(", ")} - {"drive-corrupting+osd-lost"}, "two at once"
    assert kept[0, "one"] == {"drive-slow", "drive-power-cut"}
    assert kept[1, "one"] == kept[0, "two"] - {"drive-corrupting"}
    read = study(f"faults: [{AWAY}]", **SAFE)
    assert expand(read)
    assert get_fault(AWAY).is_promised(read, "one", find_spec(read).faults[AWAY])


@pytest.mark.parametrize(
    ("drive", "level", "promised"),
    [(1, "raid1", True), (2, "raid1", False), (2, "raid1c3", True), (2, "raid10", False)],
)
def test_an_array_promises_no_more_drives_than_it_has_copies(
    drive: int, level: str, promised: bool
) -> None:
    """Each of the two faults alone is survived by all."""
    array = f"{{drive: gp3, count: 4, layer: {{btrfs: {{level: {level}}}}}}}"
    fault = "drive-gone+drive-errors"
    assert expand(study(f"faults: [{fault}]")), "of one drive they add up"
    read = study(f"faults: {{{fault}: {{drive-errors: {{drive: {drive}}}}}}}", one=array)
    keys = find_spec(read).get_levels()[fault]
    assert get_fault(fault).is_promised(read, "one", keys) is promised


@pytest.mark.parametrize("fault", ["server-killed", "drive-power-cut", "storage-full"])
def test_a_database_that_does_not_wait_promises_nothing_after_a_crash(fault: str) -> None:
    """The other candidate's does: what it loses is a broken promise."""
    hasty = "{drive: gp3, settings: {synchronous_commit: 'off'}}"
    read = study(f"faults: [{fault}, drive-slow]", one=hasty)
    promised = {
        (name, of): get_fault(name).is_promised(read, of, keys)
        for name, keys in find_spec(read).get_levels().items()
        for of in ("one", "two")
    }
    assert [at for at, promise in promised.items() if not promise] == [(fault, "one")]


def test_a_lost_drive_needs_the_room_of_its_rebuild_beside_another_fault() -> None:
    """Else its rebuild would end for want of space."""
    needed = {
        fault: FailureScenario().count_added_bytes(study(f"faults: [{fault}]", one=MIRROR), 2**30)
        for fault in ("drive-lost", "drive-lost+server-killed", "server-killed")
    }
    assert [of["data"] for of in needed.values()] == [2 * 2**30, 2 * 2**30, 0]


def test_of_several_faults_one_that_stays_keeps_no_other() -> None:
    """Whatever is still broken would be in every later window."""
    ended: list[str] = []

    class Part(FaultKind):
        """A fault of a name and rank."""

        def __init__(self, name: str, rank: int) -> None:
            """As it is called."""
            self.name, self.rank = name, rank

        def heal(self, target: Target, keys: Any) -> None:
            """Note it; the first one cannot be repaired."""
            ended.append(self.name)
            if self.rank == 0:
                raise InfrastructureError("it hangs", where="here", remedy="none")

    parts = [Part("server", 2), Part("hung", 0), Part("drive", 1)]
    keys = TogetherKeys(parts={part.name: FaultKeys() for part in parts})
    target: Any = None
    with pytest.raises(InfrastructureError):
        FaultsTogether(parts).heal(target, keys)
    assert ended == ["hung", "drive", "server"]


@pytest.mark.parametrize(
    ("where", "error", "lost", "moved"),
    [
        ("heal", InfrastructureError("it hangs", where="here", remedy="none"), set(), {"one"}),
        ("heal", PreconditionError("it is held", where="here", remedy="none"), set(), {"one"}),
        ("rebuild", Interrupted("stopped", where="here", remedy="none"), set(), {"one"}),
        ("rebuild", InfrastructureError("slow", where="here", remedy="none"), {"one"}, set()),
    ],
)
def test_storage_that_stays_broken_is_made_anew(
    where: str, error: StithyError, lost: set[str], moved: set[str]
) -> None:
    """Nobody's later window has it; that it is lost is said only of what did not come back."""
    read = study("faults: [osd-killed]", **CLUSTERS)
    volumes = SimpleNamespace(lost={}, moved=set(), of=lambda _: SimpleNamespace(
        clusters=[Path("cluster")], drives=[]))  # fmt: skip
    context: Any = SimpleNamespace(
        file=SimpleNamespace(study=read), volumes=volumes,
        session=SimpleNamespace(clock=FakeClock()),
    )  # fmt: skip
    window: Any = SimpleNamespace(point=read.points[1], candidate="one")
    activity, fails = FaultActivity("osd-killed", context, window), Mock(side_effect=error)
    broken = Mock(**{"heal": Mock(), "rebuild": Mock(return_value=None), where: fails})
    activity._fault, activity._at.struck_s, broken.examines = broken, 1.0, False
    with suppress(InfrastructureError, PreconditionError), activity.ready():
        pass
    assert (set(volumes.lost), volumes.moved) == (lost, moved)


def make_activity() -> FaultActivity:
    """A window in which a drive of a mirror is gone for ten seconds."""
    read = study("faults: [drive-gone]", one=MIRROR, two=MIRROR)
    stop = SimpleNamespace(check=lambda: None)
    context: Any = SimpleNamespace(
        file=SimpleNamespace(study=read), session=SimpleNamespace(clock=FakeClock(), stop=stop),
        volumes=SimpleNamespace(lost={}, moved=set(), of=lambda _: SimpleNamespace(clusters=())),
    )  # fmt: skip
    window: Any = SimpleNamespace(point=read.points[1], candidate="one", duration_s=60.0)
    activity = FaultActivity("drive-gone", context, window)
    at = activity._at
    at.struck_s = at.broken_s = 10.0
    at.healing_s = at.healed_s = at.whole_s = 20.0
    return activity


def find_values(activity: FaultActivity) -> dict[tuple[str, str], WindowValue]:
    """What it measured, without users who said anything."""
    activity.times, activity.summary = Times(0.0, 0.0, 60.0, complete=True), None
    return {(value.metric, value.of): value for value in activity.values()}


@pytest.mark.parametrize(
    ("check", "because", "outcome"),
    [
        (Mock(side_effect=InfrastructureError("no answer", where="here", remedy="none")),
         "here: no answer: none", "not done: here: no answer: none"),
        (Mock(return_value=None), UNCHECKED, "not done: the engine has no check of its own here"),
        (Mock(return_value=""), None, "no damage"),
    ],
    ids=["it fails", "none", "it is done"],
)  # fmt: skip
def test_a_check_that_is_not_done_says_nothing_of_the_database(
    monkeypatch: pytest.MonkeyPatch, check: Mock, because: str | None, outcome: str
) -> None:
    """It is neither damaged nor known to be whole, and why is said."""
    activity = make_activity()
    monkeypatch.setattr("stithy.scenarios.failure.service.check_files", check)
    with activity.ready():
        pass
    assert find_values(activity)["fault.damaged", "all"].missing_because == because
    assert [span.outcome for span in activity.spans() if span.name == "check"] == [outcome]


def test_what_a_window_did_not_come_to_is_not_claimed() -> None:
    """Neither a check of files, nor a rebuild, nor a recovery; one not injected has no span."""
    activity = make_activity()
    values = find_values(activity)
    assert values["fault.damaged", "all"].missing_because == NOT_REACHED
    lengths = {of: value.value for (name, of), value in values.items() if name == "fault.phase_s"}
    assert lengths == {"baseline": 10, "pause": None, "degraded": 10, "rebuilding": None,
                       "after": 40}  # fmt: skip
    assert "no whole second" in (values["fault.recovery_s", "all"].missing_because or "")
    assert [span.name for span in activity.spans()] == ["fault", "repair"]
    activity._at.broken_s = None
    assert not list(activity.spans())


def test_a_database_that_comes_back_after_all_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two faults at once the second may keep it away until that is healed, too."""
    full = InfrastructureError("no space left", where="here", remedy="none")
    of = "stithy.scenarios.failure.service"
    monkeypatch.setattr(f"{of}.restart_server", Mock(side_effect=[full, None]))
    monkeypatch.setattr(f"{of}.find_server", lambda _: None)
    monkeypatch.setattr(f"{of}.list_mounted_drives", lambda _: [])
    target = Target(Mock(), "one")
    bring_back(target)
    assert "did not come back: here: no space left" in (find_outage(target) or "")
    bring_back(target)
    assert find_outage(target) is None


def test_a_server_that_never_answers_is_not_repaired(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its repair would be called done."""
    clock = FakeClock()
    server = Mock(ended_by=lambda: None, can_answer=lambda: False, data="here")
    monkeypatch.setattr("stithy.scenarios.failure.service.find_server", lambda _: server)
    context: Any = SimpleNamespace(session=SimpleNamespace(
        clock=clock, stop=SimpleNamespace(pause=lambda _: clock.sleep_s(10))))  # fmt: skip
    with pytest.raises(InfrastructureError, match="did not answer within 300 s"):
        restart_server(Target(context, "one"))


def test_a_monitor_detects_nothing_that_it_was_told() -> None:
    """An administrator marks an OSD down or out at once; only a silent one has to be found."""
    target: Any = None
    found = {name for name in FAULTS if plugins(FaultKind)[name].is_noticeable(target)}
    assert found == {*FAULTS} - {"osd-down", "osd-out"}


def test_several_faults_strike_at_once_and_drawn_ones_by_a_seed() -> None:
    """Each keeps its options; the same seed draws the same faults, times and lengths."""
    read = study(
        "faults: {drive-slow + server-killed: {drive-slow: {factor: 5}}, server-hung: },"
        "random: {count: 30, seed: 7}"
    )
    spec = find_spec(read)
    drawn = list(spec.get_levels())
    assert drawn == list(find_spec(study(write_yaml_of(spec))).get_levels())
    assert {level.partition(".")[0] for level in drawn} == {
        "drive-slow+server-killed", "server-hung"
    }  # fmt: skip
    both = spec.get_levels()[next(level for level in drawn if "+" in level)]
    assert isinstance(both, TogetherKeys)
    assert both.parts["drive-slow"].model_dump()["factor"] == 5
    times = {spec.choose_times_s(60, level) for level in drawn}
    assert len(times) == 30
    assert all(6 <= length <= 24 for pair in times for length in pair)
    alone = find_spec(study("faults: {drive-slow: {for: 3 s}}"))
    assert alone.choose_times_s(60, "drive-slow") == (12, 3)


def write_yaml_of(spec: FailureSpec) -> str:
    """The keys of a study, as they are written where a run says what it was asked."""
    return json.dumps(spec.model_dump(mode="json", by_alias=True, exclude_unset=True))[1:-1]


def test_a_rate_is_a_share_of_a_maximum_that_is_measured_first() -> None:
    """Once, with users who work back to back, and without a fault."""
    read = study("faults: [drive-slow], during: {rate: 50%}", load="calibrate: false")
    assert [(point.values["rate"], point.values["fault"]) for point in read.points] == [
        ("maximum", "none"), ("50%", "none"), ("50%", "drive-slow")
    ]  # fmt: skip


def logged(second: float, count: int) -> LoggedInterval:
    """A second of a log in which so many transactions took 1 µs."""
    return LoggedInterval("payment", 1000 + second, 1.0, LoggedHistogram({1: count}, 10, 0))


def test_a_second_without_an_answer_counts() -> None:
    """The log has no line of it: a rate over the lines that there are would be of other seconds."""
    log = [logged(0, 60), logged(1, 60), logged(5, 30)]
    result = sum_phase(log, Phase("fault", 1000.9, 1006.0), 1000.0)
    assert (result.seconds, result.count, result.per_minute) == (5, 90, 1080)
    assert sum_phase(log, Phase("repair", 1001.2, 1001.9), 1000.0).per_minute is None


@pytest.mark.parametrize(("ends", "done", "expected"), [
    ((1001.0, 1004.0), 30, True), ((1001.0, 1004.0), 31, False), ((1001.0, 1004.0), 29, False),
    ((1001.5, 1003.5), 15, True), ((1001.5, 1003.5), 31, False), ((1001.5, 1003.5), 9, False),
    ((1002.0, 1007.0), 50, False),
])  # fmt: skip
def test_a_log_that_ended_early_is_not_whole(
    ends: tuple[float, float], done: int, expected: bool
) -> None:
    """Seconds that lie in a measurement with a part only may hold fewer of it than they have."""
    assert is_whole([logged(second, 10) for second in range(6)], *ends, done) is expected


@pytest.mark.parametrize(
    ("counts", "expected"),
    [([100] * 10, 0.0), ([0, 0, 91] + [95] * 9, 1.5), ([0] * 8 + [100] * 4, None),
     ([0] * 7 + [100] * 5, 6.5)],
)  # fmt: skip
def test_recovery_is_five_good_seconds(counts: list[int], expected: float | None) -> None:
    """From the repair, which is in the middle of a second; to an end as exact as clocks are."""
    log = [logged(second, count) for second, count in enumerate(counts) if count]
    rest = Phase("rest", 1000.5, 1011.9999)
    assert find_recovery_s(log, rest, 1000.0, 100.0) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("gap", "expected"),
    [
        (None, "baseline 10, degraded 4, rebuilding 3, after 13"),
        ((1010.4, 5.1), "baseline 10, degraded 0.4, pause 5.1, rebuilding 1.5, after 13"),
        ((1009.5, 2.5), "baseline 10, pause 2, degraded 2, rebuilding 3, after 13"),
        ((1012.0, 30.0), "baseline 10, degraded 2, pause 18"),
        ((1001.0, 10.0), "baseline 10, degraded 4, rebuilding 3, after 13"),
        ((1011.0, 0.9), "baseline 10, degraded 4, rebuilding 3, after 13"),
        ((1020.0, 3.0), "baseline 10, degraded 4, rebuilding 3, after 13"),
        ((1001.0, 3.0), "baseline 10, degraded 4, rebuilding 3, after 13"),
        ((1011.0, 1.5), "baseline 10, degraded 1, pause 1.5, degraded 1.5, rebuilding 3, after 13"),
    ],
)
def test_a_pause_is_cut_out(gap: tuple[float, float] | None, expected: str) -> None:
    """Where the fault began it, and it has a whole second; the others are what is left."""
    phases = list_phases((1000.0, 1010.0, 1014.0, 1017.0, 1030.0), gap)
    assert ", ".join(f"{each.name} {each.to_s - each.from_s:.2g}" for each in phases) == expected
    if expected.count("degraded") > 1:
        log = [logged(second, second) for second in range(30)]
        of = sum_phases(log, phases, 1000.0)["degraded"]
        assert (of.count, of.seconds, of.times and of.times.count) == (10 + 13, 2, 23)


@pytest.mark.parametrize(("healed_s", "lasting"), [(1014.0, (10, 4, 16)), (1040.0, (10, 20))])
def test_no_phase_outlasts_the_users(healed_s: float, lasting: tuple[int, ...]) -> None:
    """Seconds after their end have no transactions, and would count as seconds without one."""
    phases = list_phases((1000.0, 1010.0, healed_s, 1090.0, 1030.0), None)
    assert tuple(each.to_s - each.from_s for each in phases) == lasting
    names = ("baseline", "degraded", "rebuilding")
    assert tuple(each.name for each in phases) == names[: len(lasting)]
