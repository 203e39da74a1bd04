"""A database moves under its users: nothing is lost, and nothing stays behind."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from stithy.metrics import Quantity
from stithy.registry import plugins
from stithy.report.blocks import Figure, FigureKind
from stithy.report.context import make_context
from stithy.results.files import read_run
from stithy.results.layout import RunDirectory
from stithy.scenarios.migration.judge import Relocated
from stithy.units import format_measured_duration
from support.running import Stithy, entries, is_replacing, left_by, write_study

WAYS, FOLLOWER_LOG = ("replication", "copy"), "migration.server.log"


def study(place: Path, ways: Sequence[str] = WAYS, duration: str = "6 s") -> Path:
    """Two users on one directory, whose database moves to another after a second."""
    candidate = f"{{path: {place / 'a'}, roles: {{target: {{path: {place / 'b'}}}}}}}"
    return write_study(
        place / "study.yaml", {"a": candidate}, users=[2], duration=duration,
        load={"ledger": "true"},
        scenario=f"{{migration: {{ways: [{', '.join(ways)}], at: 1 s}}}}",
    )  # fmt: skip


@pytest.mark.needs_postgresql
def test_a_run_killed_in_a_migration_resumes(stithy: Stithy, place: Path) -> None:
    """Both servers and the files at the target go; the resumed run has moved by all ways, no loss.

    It is killed while the second server catches up.
    """
    out, killed = place / "run", "w-a-u2-wayreplication-b0"
    moved, log = place / "b" / "moved", RunDirectory(out).window(killed).root / FOLLOWER_LOG
    stithy.kill(log.exists, "run", study(place), "--out", out)
    assert moved.exists()
    assert (place / "a" / "data").exists()
    assert not entries(out, "step-finished", id=killed)
    stithy.run("resume", out)
    context = make_context(read_run(out))
    found = {each.happened: each for each in Relocated.list_in(context.evidence)}
    assert found.keys() == {*WAYS}
    pauses = {name: check_moved(each) for name, each in found.items()}
    drawn = plugins(FigureKind)["migration-seconds"].draw(context)
    titles = [each.title.partition(" (")[0] for each in drawn if isinstance(each, Figure)]
    assert titles == [
        f"With a migration by {name} users paused {format_measured_duration(gap_s)} on a"
        for name, gap_s in pauses.items()
    ]
    assert entries(out, "step-finished", id="check-end-a")
    assert left_by(out) == []
    assert not (place / "a" / "data").exists()
    assert not moved.exists()


def replacing_study(
    place: Path, duration: str = "6 s", way: str = "btrfs-replace", kind: str = "filesystem: btrfs"
) -> Path:
    """Two users on one drive, whose file system moves to another after a second."""
    drive = f"drive: gp3, {kind}"
    return write_study(
        place / "study.yaml", {"a": f"{{{drive}, roles: {{target: {{{drive}}}}}}}"}, users=[2],
        duration=duration, load={"ledger": "true"},
        scenario=f"{{migration: {{ways: [{way}], at: 1 s}}}}",
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.needs_drive
@pytest.mark.needs_postgresql
def test_blocks_that_btrfs_moved_are_read(stithy: Stithy, place: Path) -> None:
    """All are as their checksums from the source say; of tables the reason is kept."""
    stithy.run("run", replacing_study(place, "20 s"), "--out", place / "run")
    [of] = Relocated.list_in(make_context(read_run(place / "run")).evidence)
    assert not of.list_lost()
    assert of.average(Quantity("migration.blocks_damaged")) == 0
    assert (of.explain_uncompared() or "").startswith("btrfs wipes the drive that it leaves")
    stithy.assert_nothing_left(place / "run")


@pytest.mark.needs_drive
@pytest.mark.needs_postgresql
def test_a_run_killed_in_a_replacement_leaves_nothing(stithy: Stithy, place: Path) -> None:
    """While blocks move below the running server, the file system is on both drives."""
    out, path = place / "run", replacing_study(place)
    stithy.kill(lambda: out.exists() and is_replacing(out, 2), "run", path, "--out", out)
    assert not entries(out, "step-finished", id="w-a-u2-waybtrfs-replace-b0")
    stithy.run_well("clean")
    stithy.assert_nothing_left(out)


@pytest.mark.needs_ceph
@pytest.mark.needs_postgresql
def test_a_run_killed_in_a_mirror_leaves_nothing(stithy: Stithy, place: Path) -> None:
    """QEMU's daemon copies on, below a server and a file system that must go before it."""
    out, path = place / "run", replacing_study(place, way="block-mirror", kind="layer: {qemu: {}}")

    def is_mirroring() -> bool:
        """The target's own bridge has gone while the window with the way is measured."""
        made = {each.facts["facts"]["folder"] for each in entries(out, "creating", kind="bridge")}
        began = entries(out, "step-started", id="w-a-u2-wayblock-mirror-b0")
        return bool(began) and 0 < sum(os.path.exists(folder) for folder in made) < len(made)

    stithy.kill(lambda: out.exists() and is_mirroring(), "run", path, "--out", out)
    assert not entries(out, "step-finished", id="w-a-u2-wayblock-mirror-b0")
    stithy.run_well("clean")
    stithy.assert_nothing_left(out)


def check_moved(of: Relocated) -> float:
    """One window of a way: its ledger compared, users who paused at the switch, and went on.

    All its tables are compared and equal. Gives their longest pause.
    """
    [window] = of.evidence.at("a", of.point)
    assert not of.list_lost(), of.happened
    assert window.row["ledger_acknowledged"] > 0, of.happened
    assert window.row["ledger_unverified_because"] is None, of.happened
    assert window.row["errors"] == 0, of.happened
    spans = {span["name"]: span["to_s"] - span["from_s"] for span in window.spans}
    assert window.row["gap_s"] > 0.9 * spans["switch"], of.happened
    values = {key: row["value"] for key, row in window.values.items()}
    assert values["migration.duration_s", "all"] == pytest.approx(sum(spans.values())), of.happened
    assert values["migration.moved_bytes", "all"] > 2**26, of.happened
    assert values["migration.tpm", "after"] > 0, of.happened
    compared, differing = (values[f"migration.tables_{name}", "all"]
                           for name in ("compared", "differing"))  # fmt: skip
    assert (compared or 0) >= 10, window.values
    assert differing == 0, of.happened
    return float(window.row["gap_s"])


@pytest.mark.long
@pytest.mark.parametrize(
    ("engine", "ways"),
    [pytest.param("postgresql", ("base-backup",), marks=pytest.mark.needs_postgresql),
     pytest.param("mariadb", WAYS, marks=pytest.mark.needs_mariadb)],
)  # fmt: skip
def test_other_engines_and_ways_lose_nothing(
    stithy: Stithy, place: Path, engine: str, ways: Sequence[str]
) -> None:
    """Users of either engine go on at the target; its settings are those of the source."""
    path, out = study(place, ways, "15 s"), place / "run"
    text = path.read_text().replace("engine: postgresql", f"engine: {engine}")
    if engine == "mariadb":
        text = re.sub(r"settings: .*", "settings: {innodb_buffer_pool_size: 32M}", text)
    path.write_text(text)
    stithy.run("run", path, "--out", out)
    found = Relocated.list_in(make_context(read_run(out)).evidence)
    assert {each.happened for each in found} == {*ways}
    for each in found:
        check_moved(each)
    assert left_by(out) == []
