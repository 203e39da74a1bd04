"""Runs on devices, and on arrays of drives, that are killed, and go back to nothing or go on."""

from pathlib import Path

import pytest

from stithy.drives import filesystems
from stithy.errors import Exit
from stithy.hosts.runner import LocalRunner
from stithy.storage.consent import read_content
from support import scenarios
from support.loops import a_loop
from support.running import ROWS, Stithy, entries, left_by, manifest, measures, write_study

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_drive, pytest.mark.needs_postgresql]


def holds(device: Path) -> str:
    """What is on a device, in words."""
    return str(read_content(device, device, "the test", LocalRunner()))


ARRAYS = (
    "{drive: generic-nvme, count: 4, layer: {btrfs: {level: raid10}}, "
    "roles: {log: {drive: generic-nvme, count: 2, layer: {btrfs: {}}}}}"
)


def test_runs_on_a_device_and_on_arrays_are_resumed(stithy: Stithy, place: Path) -> None:
    """Each ends with an empty device; the plan says before what will be lost.

    Of the arrays one is for the data, one for the log; every drive is counted by its own name.
    """
    with a_loop(place, "disk") as device:
        _killed_cleaned_resumed(stithy, place, device)


def _killed_cleaned_resumed(stithy: Stithy, place: Path, device: Path) -> None:
    filesystems.make(str(device), "xfs")
    keys = f"{{device: {device}, wipe: true}}"
    again = f"{{device: /dev/../dev/{device.name}, wipe: true}}"
    twice = write_study(place / "twice.yaml", {"a": keys, "b": again}, users=(1,))
    planned = stithy.run("plan", twice)
    assert f"everything on {device} (1 GiB) will be lost: it holds xfs" in planned.stdout
    assert "candidate b" in planned.stderr + planned.stdout
    assert planned.returncode == Exit.PRECONDITION
    study = write_study(place / "s.yaml", {"a": keys}, users=(1,), duration="1 s", data=ROWS)
    out, resumed = place / "out", place / "resumed"
    stithy.kill(lambda: entries(out, "creating", kind="mount"), "run", study, "--out", out)
    assert stithy.run("clean").returncode == Exit.OK
    assert (left_by(out), holds(device)) == ([], "nothing")
    both = {"a": f"{{device: {device}}}", "b": ARRAYS}
    study = write_study(place / "e.yaml", both, users=(1,), duration="3 s", data=ROWS)
    assert "level: raid10" in stithy.run("plan", study).stdout
    stithy.kill(lambda: measures(resumed), "run", study, "--out", resumed)
    stithy.run_well("resume", resumed)
    assert (left_by(resumed), holds(device), stithy.registered()) == ([], "nothing", [])
    stithy.assert_nothing_left(resumed)
    candidate, arrays = manifest(resumed)["candidates"]
    assert (candidate["provider"], candidate["filesystem"]) == ("device", "ext4")
    assert device.name in candidate["devices"]
    names = [*(f"data-{n}" for n in (1, 2, 3, 4)), "log-1", "log-2"]
    assert [each["name"] for each in arrays["drives"]] == names
    assert [(each["role"], each["keys"]) for each in arrays["arrays"]] == [
        ("data", {"level": "raid10"}), ("log", {"level": "raid1"}),
    ]  # fmt: skip
    report = (resumed / "report.html").read_text()
    for shown in (
        str(device), "btrfs raid10 of 4 devices", "data 4 × generic-nvme as btrfs raid10",
        "data-4", "log-2",
    ):  # fmt: skip
        assert shown in report, shown


MIRROR = "{drive: gp3, count: 2, layer: {btrfs: {level: raid1}}}"


@pytest.mark.long
def test_an_array_is_backed_up(stithy: Stithy, place: Path) -> None:
    """As on any other storage. Long: arrays and backups are tried each time, one by one.

    `e2e/test_ceph.py` has tenants on another storage than a directory.
    """
    scenarios.backed_up(stithy, place, MIRROR)


def test_a_layer_of_ones_own_is_one_file(stithy: Stithy, place: Path, fakes: Path) -> None:
    """Planned, built, reported and removed, with what it alone makes, by a run and by `clean`."""
    note = place / "note"
    keys = f"{{drive: generic-nvme, layer: {{plain: {{percent: 90, note: {note}}}}}}}"
    out, study = place / "out", place / "s.yaml"
    write_study(study, {"a": keys}, users=(1,), duration="9 s", data=ROWS)
    assert "percent: 90" in stithy.run("plan", study).stdout
    stithy.kill(lambda: measures(out), "run", study, "--out", out)
    assert note.exists()
    assert stithy.run("clean").returncode == Exit.OK
    assert not note.exists()
    stithy.assert_nothing_left()
    [candidate] = manifest(out)["candidates"]
    assert candidate["filesystem"] == "ext4"
    assert [each["layer"] for each in candidate["arrays"]] == ["plain"]
    assert "layers" in stithy.run("doctor").stdout
