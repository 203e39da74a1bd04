"""MariaDB and SQLite on an emulated drive: what power cuts lose is what Stithy says is given up.

Twenty cuts on each file system are a part of `make prove`.
"""

from collections.abc import Iterator

import pytest

from power_engines import SUBJECTS
from power_trials import Master, Plan, loaded_master, machine
from stithy.drives import filesystems
from stithy.errors import PreconditionError
from stithy.scenarios.durability.trial import make_rule

pytestmark = [pytest.mark.needs_drive, pytest.mark.long]

CUTS, LOSING_CUTS = 3, 10
NEEDED = {"mariadb": (pytest.mark.needs_mariadb,), "sqlite": ()}


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=marks) for name, marks in NEEDED.items()]
)
def master(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Master]:
    """One loaded warehouse of an engine for all tests of this file."""
    place = tmp_path_factory.mktemp("power")
    for folder in (place, *place.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o011)
    with loaded_master(place, SUBJECTS[request.param]) as loaded:
        yield loaded


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_nothing_acknowledged_is_lost(kind: str, master: Master) -> None:
    """After each cut all is whole, by every check. Long: minutes of cuts and recoveries."""
    try:
        filesystems.need_tools(kind)
    except PreconditionError as error:
        pytest.skip(str(error))
    with machine(master, Plan(kind, 0)) as there:
        for seed in range(CUTS):
            seen = there.cut_under_load(seed, make_rule(seed, seed))
            assert seen.sound, seen


def test_settings_lose_what_stithy_says(master: Master) -> None:
    """Others that give nothing up lose nothing; those that do are caught. Long: as above."""
    for variant in master.subject.variants:
        with machine(master, Plan("ext4", 0, variant=variant)) as there:
            cuts = (
                there.cut_under_load(seed, make_rule(seed, seed)) for seed in range(LOSING_CUTS)
            )
            if master.subject.is_durable(variant):
                seen = next(cuts)
                assert seen.sound, seen
            else:  # it loses the last moments only, of which a cut may leave nothing open
                assert any(seen.is_caught for seen in cuts)
