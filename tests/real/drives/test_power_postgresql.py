"""PostgreSQL on an emulated drive: nothing acknowledged is lost by power cuts.

What should be lost is missed, and a drive whose program is killed ends in errors, not in a hang.

Twenty cuts on each file system are a part of `make prove`.
"""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import power_trials
from power_engines import SUBJECTS
from power_trials import Machine, Master, Plan, loaded_master, machine
from stithy.drives import filesystems
from stithy.drives.power_cut import CutRule
from stithy.errors import PreconditionError
from stithy.hosts.processes import find_pids_inside
from stithy.scenarios.durability.trial import make_rule

pytestmark = [pytest.mark.needs_drive, pytest.mark.needs_postgresql]

KINDS = SUBJECTS["postgresql"].kinds
LOSE_ALL = CutRule(seed=1, lost_share=1.0, torn_share=0.0)
UNBOUNDED_BYTES = 2**40
CUTS = 3


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Master]:
    """One loaded warehouse for all tests of this file."""
    place = tmp_path_factory.mktemp("power")
    for folder in (place, *place.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o011)
    with loaded_master(place) as loaded:
        yield loaded


@pytest.fixture(
    params=[KINDS[0], *(pytest.param(kind, marks=pytest.mark.long) for kind in KINDS[1:])]
)
def kind(request: pytest.FixtureRequest) -> str:
    """Each file system of which the programs are there."""
    try:
        filesystems.need_tools(request.param)
    except PreconditionError as error:
        pytest.skip(str(error))
    return str(request.param)


def test_nothing_acknowledged_is_lost(kind: str, master: Master) -> None:
    """After each cut the file system is clean, the server recovers, and the ledger holds."""
    first = 10 * KINDS.index(kind)
    with machine(master, Plan(kind, first)) as there:
        for seed in range(first, first + CUTS):
            seen = there.cut_under_load(seed, make_rule(seed, seed))
            assert seen.sound, seen


def test_nothing_is_lost_where_the_log_has_its_own_drive(master: Master) -> None:
    """The power of both drives is cut at one moment, and both come back."""
    with machine(master, Plan("ext4", 40, own_log=True)) as there:
        seen = there.cut_under_load(40, make_rule(40, 40))
    assert seen.sound, seen
    assert [cut.name for cut in seen.cuts] == ["data", "log"]


def test_flushes_that_lie_are_found_out(master: Master) -> None:
    """The same comparison names what was acknowledged and is gone: it can fail."""
    with machine(master, Plan("ext4", 1, UNBOUNDED_BYTES)) as there:
        seen = there.cut_under_load(1, LOSE_ALL, is_lying=True)
    assert seen.is_caught
    assert seen.orders is not None
    assert seen.orders.lost > 0
    assert seen.payments is not None
    assert seen.payments.lost > 0


def test_a_killed_drive_ends_in_errors(master: Master) -> None:
    """The server gives up, its file system can be unmounted, and nothing is left of the drive."""
    with machine(master, Plan("ext4", 1)) as there:
        device = there.drives.devices[power_trials.DRIVE]
        with there.load(1) as load:
            time.sleep(0.5)
            load.check()
            os.kill(there.drives.identity.pid, signal.SIGKILL)
            _wait_for_a_panic(there)
        there.stop()
        [mounted] = there.mounted
        assert find_pids_inside(there.data, "postgres") == []
        filesystems.unmount(mounted.folder, devices=[device])
    assert not Path(f"/sys/block/{Path(device).name}/loop/backing_file").exists()
    assert not there.drives.folder.exists()


def _wait_for_a_panic(there: Machine) -> None:
    """Until the server says that it cannot go on; the test's own limit ends a wait in vain."""
    assert there.server is not None
    while "PANIC" not in there.log.read_text() and there.server.ended_by() is None:
        time.sleep(0.02)
