"""What a study of migrations plans, and which databases cannot be moved."""

from types import SimpleNamespace
from typing import Any

import pytest

from stithy.activities.hammer.judge import LEDGER, UNREADABLE
from stithy.activity import get_table
from stithy.analysis.decision import is_answered
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.gathering import WindowRecord, judge
from stithy.errors import StithyError
from stithy.metrics import Quantity
from stithy.plan.expand import expand
from stithy.plan.scenario import find_scenario
from stithy.point import Point
from stithy.registry import plugins
from stithy.report.findings import FindingKind
from stithy.scenarios.migration.declared import NOT_BEGUN, NOTHING_MOVES
from stithy.scenarios.migration.plan import find_spec
from stithy.scenarios.migration.way import SETTINGS, WayKind
from stithy.study.load import parse_study
from stithy.study.model import Study
from stithy.validity import Flag, Reason

STUDY = """study: What does a migration cost?
candidates:
  one: {source}{roles}}}
database: {{engine: {engine}, memory: 192 MiB}}
workload: {{name: order-entry, warehouses: 1}}
load: {{users: [4], duration: 60 s, repeat: 1, {load}}}
scenario: {scenario}
"""
TARGET = "target: {drive: io2}"
MIRRORED = "{drive: gp3, layer: {qemu: {}}"


def study(
    keys: str = "", *, roles: str = TARGET, load: str = "calibrate: false",
    engine: str = "postgresql", source: str = "{drive: gp3",
    scenario: str = "{{migration: {{{keys}}}}}",
) -> Study:  # fmt: skip
    """A study of one candidate that moves."""
    given = f", roles: {{{roles}}}" if roles else ""
    told = scenario.format(keys=keys)
    text = STUDY.format(source=source, roles=given, load=load, engine=engine, scenario=told)
    return parse_study("study.yaml", text.encode())


def make_row(point: Point, **own: Any) -> dict[str, Any]:
    """The row of a window of users at this point, in which nothing went wrong."""
    return {
        "window_id": str(point), "candidate": "one", "activity": "hammer", "point": str(point),
        "block": 0, "attempt": 0, "position": 0, "tried": False, "missing_because": None,
        "measure_from_s": 0.0, "measure_to_s": 1.0, "tpm": 1.0, "ledger_acknowledged": 5,
        "ledger_unverified_because": None, "ledger_problem": None, **own,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("keys", "others", "problem"),
    [
        ("ways: []", {}, "not ways"),
        ("ways: [copy, copy]", {}, "a way given twice"),
        ("ways: [none]", {}, "`none` among the ways"),
        ("ways: [copi]", {}, "did you mean `copy`?"),
        ("at: 0 s", {}, "a migration at once"),
        ("at: 60 s", {}, "ends before the migration begins"),
        ("", {"load": "ledger: false"}, "without a ledger shows no loss"),
        ("", {"roles": ""}, "no storage to move to"),
        ("", {"scenario": "load"}, "nothing moves in the scenario load"),
    ],
)
def test_a_wrong_key_is_refused(keys: str, others: dict[str, str], problem: str) -> None:
    """With what is wrong, and what would be right."""
    with pytest.raises(StithyError) as refused:
        study(keys, **others)
    assert problem in refused.value.text


@pytest.mark.parametrize(
    ("keys", "others", "because"),
    [
        ("ways: [base-backup]", {"engine": "mariadb"}, "the files of mariadb do not say"),
        ("ways: [replication]", {"engine": "mysql"}, "no server of mysql follows another"),
        ("ways: [replication]", {"engine": "sqlite"}, "no server of sqlite follows another"),
        ("ways: [replication]", {"engine": "postgresql, settings: {WAL_level: Minimal}"},
         "no server follows one with `WAL_level: Minimal`"),
        ("ways: [base-backup]", {"engine": "postgresql, settings: {max_wal_senders: 0}"},
         "no server follows one with `max_wal_senders: 0`"),
        ("ways: [replication]", {"engine": "mariadb, settings: {LOG_BIN: 'off'}"},
         "no server follows one with `LOG_BIN: off`"),
        ("ways: [copy]", {"engine": "sqlite"}, "sqlite has no server"),
        ("ways: [btrfs-replace]", {}, "its storage is not a single emulated drive"),
        ("ways: [btrfs-replace]", {"source": "{drive: gp3, filesystem: btrfs"},
         "its target is not a single emulated drive"),
        ("ways: [btrfs-replace]",
         {"source": "{drive: gp3, filesystem: btrfs, size: 2 GiB",
          "roles": "target: {drive: io2, filesystem: btrfs, size: 1 GiB}"},
         "its target is not at least as large"),
        ("ways: [block-mirror]", {}, "its storage is not a single emulated drive with `layer"),
        ("ways: [block-mirror]", {"source": MIRRORED},
         "its target is not a single emulated drive with `layer"),
        ("ways: [block-mirror]",
         {"source": MIRRORED, "roles": f"target: {MIRRORED}, filesystem: btrfs}}"},
         "its target does not have the file system ext4"),
        ("ways: [block-mirror]",
         {"source": f"{MIRRORED}, size: 2 GiB", "roles": f"target: {MIRRORED}, size: 1 GiB}}"},
         "its target is not at least as large"),
        ("ways: [copy]", {"roles": f"{TARGET}, log: {{drive: io2}}"}, "log files lie elsewhere"),
    ],
)  # fmt: skip
def test_a_database_that_cannot_move_is_refused(
    keys: str, others: dict[str, str], because: str
) -> None:
    """Before anything is made, each with its reason."""
    with pytest.raises(StithyError) as refused:
        expand(study(keys, **others))
    assert because in refused.value.text


def test_each_way_is_a_point_beside_none() -> None:
    """In the order of the study; the target has room for the database."""
    read = study("ways: [copy], at: 5 s")
    assert [point.values["way"] for point in read.points] == ["none", "copy"]
    assert read.asked_point.values["way"] == "copy"
    assert find_spec(read).choose_begin_s(60) == 5
    windows = [step.window for step in expand(read).steps if step.kind == "window"]
    assert {each.activities[1] for each in windows if each} == {"migration-none", "migration-copy"}


@pytest.mark.parametrize(
    ("engine", "way", "words"),
    [("mariadb", "replication", ["mariadb has log_bin=ON, ", "each commit is written to"]),
     ("mariadb", "copy", []), ("postgresql", "replication", [])],
)  # fmt: skip
def test_what_lets_a_server_follow_is_set_and_said(engine: str, way: str, words: list[str]) -> None:
    """In all windows, with what it costs; its log has room. PostgreSQL's own settings do."""
    read = study(f"ways: [{way}]", engine=engine)
    scenario = find_scenario(read)
    said = [*scenario.describe_settings(read)]
    assert len(said) == bool(words)
    assert all(word in said[0] for word in words)
    assert ("log_bin" in scenario.list_server_settings(read)) is bool(words)
    assert scenario.list_facts(read) == {SETTINGS: " ".join(said)}
    more = scenario.count_added_bytes(read, 0)
    assert more.keys() == ({"data", "target"} if way == "replication" else set())


def test_blocks_that_move_below_a_server_need_room_for_new_chunks() -> None:
    """Else btrfs refuses to begin, for want of space, as soon as the database has grown."""
    read = study("ways: [copy, btrfs-replace]")
    more = find_scenario(read).count_added_bytes(read, 2**30)
    assert more == {"data": 2**30, "target": 2**30}


UNFINISHED = Flag("unfinished", "It was not done.", "Let it be.", invalidates=True)


@pytest.mark.parametrize(
    ("first", "second", "answered"),
    [((), None, True), ((LEDGER,), (), False), ((UNFINISHED,), (), True),
     ((UNFINISHED,), (UNFINISHED,), False)],
)  # fmt: skip
def test_a_loss_or_a_way_that_never_ended_is_no_answer(
    first: tuple[Flag, ...], second: tuple[Flag, ...] | None, answered: bool
) -> None:
    """A loss is one although the block was measured a second time; nothing moved in the other."""

    def make_window(way: str, attempt: int, flags: tuple[Flag, ...]) -> Window:
        name = f"{way}-{attempt}"
        row = make_row(Point.of(users=4, way=way), window_id=name, attempt=attempt)
        return Window(row, {}, tuple(Reason(flag, {"gone": "a", "example": "b"}) for flag in flags))

    windows = [make_window("none", 0, ()), make_window("copy", 0, first)]
    windows += [] if second is None else [make_window("copy", 1, second)]
    points = tuple(dict.fromkeys(window.point for window in windows))
    assert is_answered(Evidence(("one",), points, tuple(windows))) is answered


@pytest.mark.parametrize(
    ("way", "missing", "row", "said"),
    [
        ("copy", None, {}, "by copy, and LOST the database in 1 window: it could not be read any "
                           "more: no start"),
        ("copy", "it did not come to it", {}, "by copy, and LOST the database in 1 window"),
        ("copy", None, {"proof_after": 11}, "by copy, tables not compared in 1 window, "
         "the whole ledger of 1 window not compared"),
        ("copy", None, {"ledger_unverified_because": None, "ledger_problem": "no space"}, "by "
         "copy, tables not compared in 1 window, the whole ledger of 1 window not compared"),
        ("copy", NOT_BEGUN, {}, "by copy in no valid window"),
        ("none", NOTHING_MOVES, {}, None),
    ],
)  # fmt: skip
def test_a_database_that_nobody_can_read_is_lost(
    way: str, missing: str | None, row: dict[str, Any], said: str | None
) -> None:
    """Once its migration had begun; whether its users were done or not."""
    columns = {column.name: None for name in ("window", "load")
               for column in get_table(name).columns}  # fmt: skip
    point = Point.of(users=4, way=way)
    own = {"activity": f"hammer, migration-{way}", "ledger_unverified_because": "no start",
           "missing_because": None if row else "the server ended", **row}  # fmt: skip
    made = columns | make_row(point, **own, measure_from_s=None, measure_to_s=None)
    values: dict[tuple[str, str], Any] = {
        ("migration.duration_s", "all"): {"value": None, "missing_because": missing, "count": None}
    }
    tables = frozenset({"values", "load", "window"})
    reasons = judge(WindowRecord(made, values=values, tables=tables))
    if row:
        reasons = tuple(each for each in reasons if each.flag.value == "ledger not compared")
    evidence = Evidence(("one",), (point,), (Window(made, {}, reasons, values=values),))
    analysis: Any = SimpleNamespace(evidence=evidence)
    kind = plugins(FindingKind)["migration"]
    sentences = [str(kind.describe(each, "user")) for each in kind.lead(analysis)]
    assert [said in sentence for sentence in sentences if said] == [True] * bool(said)
    assert is_answered(evidence) is (said is not None and "LOST" not in said and bool(row))


def test_a_loss_of_any_candidate_is_said_first() -> None:
    """Whichever of them the study names first."""
    point = Point.of(users=4, way="copy")
    windows = []
    for name, flags in (("one", ()), ("two", (LEDGER,))):
        row = make_row(point, window_id=name, candidate=name, gap_s=0.5)
        reasons = tuple(Reason(flag, {"gone": "a", "example": "b"}) for flag in flags)
        windows.append(Window(row, {}, reasons))
    analysis: Any = SimpleNamespace(evidence=Evidence(("one", "two"), (point,), tuple(windows)))
    [finding] = plugins(FindingKind)["migration"].lead(analysis)
    said = str(plugins(FindingKind)["migration"].describe(finding, "user"))
    assert said.startswith("two moved to its target by copy, and LOST or changed data in 1 window.")
    assert said.endswith(" Nothing acknowledged was lost.")


@pytest.mark.parametrize(
    ("flags", "damaged", "said"),
    [
        ((UNREADABLE, LEDGER), (0.0, 0.0), "by copy, and LOST or changed data in 1 window, and the "
         "database in 1 window: it could not be read any more: no start."),
        (((), ()), (0.0, None), "by copy."),
        (((), ()), (0.0, 0.0), "by copy, all blocks as their checksums say."),
    ],
)  # fmt: skip
def test_no_more_is_claimed_than_holds_of_each_window(
    flags: tuple[Any, ...], damaged: tuple[float | None, ...], said: str
) -> None:
    """Neither a loss of all in one of them, nor blocks that were read in the other alone."""
    point, windows = Point.of(users=4, way="copy"), []
    for block, (flag, number) in enumerate(zip(flags, damaged, strict=True)):
        row = make_row(point, block=block, window_id=f"w{block}", gap_s=None)
        row["ledger_unverified_because"] = "no start" if flag is UNREADABLE else None
        data = {"gone": "a", "example": "b", "event": "migration", "because": "no start"}
        values = {(name, "all"): {"value": value, "count": None, "missing_because": None}
                  for name, value in (("migration.blocks_damaged", number),)}  # fmt: skip
        reasons = (Reason(flag, data),) if flag else ()
        windows.append(Window(row, {}, reasons, values=values))
    analysis: Any = SimpleNamespace(evidence=Evidence(("one",), (point,), tuple(windows)))
    [finding] = plugins(FindingKind)["migration"].lead(analysis)
    told = str(plugins(FindingKind)["migration"].describe(finding, "user"))
    told = told.replace(", tables not compared in 2 windows", "")
    assert told.removesuffix(" Nothing acknowledged was lost.") == f"one moved to its target {said}"


@pytest.mark.parametrize(
    ("usual_s", "said"),
    [(0.38, "by copy without a noticeably longer pause: 284 ms, and 380 ms without, "),
     (0.01, "by copy with a pause of 284 ms (10.0 ms without a migration), "),
     (None, "by copy with a pause of 284 ms, ")],
)  # fmt: skip
def test_a_pause_that_users_have_anyway_is_none_of_the_migration(
    usual_s: float | None, said: str
) -> None:
    """It stands beside that of the window without; and why tables were not compared is said."""
    windows, points = [], [Point.of(users=4, way=way) for way in ("none", "copy")]
    for point, gap_s in zip(points, (usual_s, 0.284), strict=True):
        reason = {"value": None, "count": None, "missing_because": "a reason."}
        of = {("migration.tables_compared", "all"): reason}
        windows.append(Window(make_row(point, gap_s=gap_s), {}, (), values=of))
    analysis: Any = SimpleNamespace(evidence=Evidence(("one",), tuple(points), tuple(windows)))
    [finding] = plugins(FindingKind)["migration"].lead(analysis)
    sentence = str(plugins(FindingKind)["migration"].describe(finding, "user"))
    assert sentence.startswith(
        f"one moved to its target {said}tables not compared in 1 window (a reason)."
    )


@pytest.mark.parametrize(("engine", "ways", "because"), [
    ("postgresql", "copy", None), ("postgresql", "replication", None),
    ("mariadb", "copy, replication", None), ("mariadb", "replication, copy", None),
    ("mariadb", "copy", "a server of mariadb follows on the source's files only where all have "
                        "log_bin=ON, "),
    ("mysql", "copy", "no server of mysql is made to follow"),
    ("postgresql", "btrfs-replace", "btrfs wipes the drive that it leaves"),
])  # fmt: skip
def test_what_is_not_compared_says_why(engine: str, ways: str, because: str | None) -> None:
    """Only a source that is gone, or on whose files no server follows."""
    read = study(f"ways: [{ways}]", engine=engine)
    found = plugins(WayKind)[ways.partition(",")[0]].explain_uncompared(read)
    assert (found or "").startswith(because or "")
    assert (found is None) is (because is None)


def test_what_volumes_cost_that_can_be_mirrored_is_said() -> None:
    """In the report, as it holds in all windows; the layer's caution says it in the plan."""
    read = study("ways: [copy, block-mirror]", source=MIRRORED, roles=f"target: {MIRRORED}}}")
    windows = [step.window for step in expand(read).steps if step.kind == "window"]
    assert {each.activities[1] for each in windows if each} >= {"migration-block-mirror"}
    assert "in all windows" in str(find_scenario(read).list_facts(read)[SETTINGS])
    assert find_scenario(read).count_added_bytes(read, 2**30) == {}


@pytest.mark.parametrize(("count", "number"), [(9_999, None), (10_000, 0.2)])
def test_a_percentile_of_a_phase_needs_enough_transactions(
    count: int, number: float | None
) -> None:
    """As everywhere: of fewer none is printed."""
    point = Point.of(users=4, way="copy")
    values = {("migration.p99_s", "moving"): {"value": 0.2, "missing_because": None,
                                              "count": count}}  # fmt: skip
    evidence = Evidence(("one",), (point,), (Window(make_row(point), {}, (), values=values),))
    assert evidence.level_of("one", point, Quantity("migration.p99_s", "moving")) == number
