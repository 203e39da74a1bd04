"""The power is cut under users: nothing is lost but by controls, and a killed run resumes."""

import re
from pathlib import Path

import pytest

from stithy.cluster.daemons import find_osd_pids
from stithy.drives.filesystems import is_mounted
from stithy.report.context import make_context
from stithy.results.files import read_run
from stithy.results.layout import RunDirectory
from stithy.scenarios.durability.declared import GIVEN_UP, LYING
from stithy.scenarios.durability.judge import list_tallies, read_value
from support.running import Stithy, entries, left_by, write_study

pytestmark = [pytest.mark.needs_drive, pytest.mark.needs_postgresql]

CUT = "w-a-u2-controloff-b0"


def test_a_run_killed_in_a_power_cut_resumes(stithy: Stithy, place: Path) -> None:
    """Drives without power go with it; the resumed run cuts again, and controls alone lose."""
    out = place / "run"
    study = write_study(
        place / "study.yaml", {"a": "{drive: gp3, count: 2, layer: {btrfs: {level: raid1}}}"},
        users=[2], duration="1 s", load={"repeat": "", "pace": "", "calibrate": ""},
        scenario="{durability: {cuts: 1, controls: 1}}",
    )  # fmt: skip
    output = out / "windows" / CUT / "hammer.jsonl"
    stithy.kill(
        lambda: output.exists() and not any(map(is_mounted, _list_mounts(out))),
        "run", study, "--out", out,
    )  # fmt: skip
    assert not entries(out, "step-finished", id=CUT)
    stithy.run("resume", out)
    context = make_context(read_run(out))
    [tally] = list_tallies(context.evidence)
    [window] = tally.cuts
    assert window.spans[-1]["outcome"] == "nothing acknowledged is missing"
    assert (tally.lost, tally.is_promised) == ((), True)
    assert tally.acknowledged > 0
    assert (read_value(window, "cut.recovery_s") or 0) > 0
    assert [span["name"] for span in window.spans] == ["cut", "power", "recovery"]
    assert tally.controls.keys() == {GIVEN_UP, LYING}
    assert not tally.silent_controls
    page = (out / "report.html").read_text()
    assert "0 of 1 power cut lost or damaged anything" in page
    assert "The test can fail" in page
    assert left_by(out) == []


CLUSTER = "{ceph: {hosts: 2, policy: {ftt: 1}, heartbeat_grace: 5 s}}"


def write_cluster_study(place: Path, hosts: str, engine: str = "postgresql") -> Path:
    """One cut of a small cluster, and one of each control."""
    several, given = "," in hosts, "" if "," in hosts else f", hosts: {hosts}"
    path = write_study(
        place / "study.yaml", {"a": CLUSTER}, users=[2], duration="1 s",
        vary=f"{{scenario.durability.hosts: [{hosts}]}}" if several else "",
        load={"repeat": "", "pace": "", "calibrate": ""},
        scenario=f"{{durability: {{cuts: 1, controls: 1{given}}}}}",
    )  # fmt: skip
    if engine == "sqlite":
        text = path.read_text().replace("engine: postgresql", "engine: sqlite")
        path.write_text(re.sub(r" *settings: .*\n", "", text))
    return path


@pytest.mark.long
@pytest.mark.needs_ceph
@pytest.mark.parametrize(
    ("engine", "hosts"), [("postgresql", "all, one"), ("sqlite", "all"), ("sqlite", "one")]
)
def test_hosts_without_power_lose_nothing_but_by_controls(
    stithy: Stithy, place: Path, engine: str, hosts: str
) -> None:
    """All at once, and the one that the database is on. Long: a cluster that controls spoil.

    The users of an engine without a server die with it, as their process is on the host.
    """
    stithy.run("run", write_cluster_study(place, hosts, engine), "--out", place / "run")
    tallies = list_tallies(make_context(read_run(place / "run")).evidence)
    assert {tally.spared for tally in tallies} == {
        ("all", "one").index(name) for name in hosts.split(", ")
    }
    for tally in tallies:
        assert (tally.lost, tally.inconsistent, tally.silent_controls) == ((), 0, ())
        assert (tally.rebuild_s is None) is (tally.spared == 0)
        assert (tally.storage_s or 0) > 0
    stithy.assert_nothing_left(place / "run")


@pytest.mark.long
@pytest.mark.needs_ceph
@pytest.mark.parametrize("hosts", ["one", "all"])
def test_a_run_killed_in_a_power_cut_of_a_cluster_is_cleaned_or_resumed(
    stithy: Stithy, place: Path, hosts: str
) -> None:
    """Its daemons and drives go, with and without power. Long: a cluster is raised and spoilt."""
    out, study = place / "run", write_cluster_study(place, hosts)
    journal = RunDirectory(out).journal

    def is_cut() -> bool:
        """Whether users have begun, and OSDs died: drives stand still, and nothing is unmounted."""
        clusters = entries(out, "creating", kind="cluster") if journal.exists() else []
        pids = [find_osd_pids(Path(of.facts["facts"]["folder"])) for of in clusters]
        return bool([*out.glob("windows/w-*/hammer.jsonl")]) and len(pids[0]) < 2

    stithy.kill(is_cut, "run", study, "--out", out)
    assert not [of for of in entries(out, "step-finished") if str(of.facts["id"]).startswith("w-")]
    if hosts == "all":
        stithy.run_well("resume", out)
        [tally] = list_tallies(make_context(read_run(out)).evidence)
        assert (tally.lost, tally.silent_controls, len(tally.cuts)) == ((), (), 1)
    stithy.run_well("clean")
    stithy.assert_nothing_left(out)


def _list_mounts(out: Path) -> list[Path]:
    """Where the run has mounted something, by its journal."""
    made = entries(out, "creating", kind="mount")
    return [Path(entry.facts["facts"]["path"]) for entry in made]
