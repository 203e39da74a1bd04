"""What stands beside the numbers of a run while it goes on."""

import pytest

from stithy.plan.expand import expand
from stithy.plan.null import nulled
from stithy.run.live.notes import notes_of
from stithy.study.model import Study
from support.studies import study

DRIVE = ("disk: {path: /var/tmp/stithy}", "disk: {drive: generic-nvme, size: 4 GiB}")


def notes(known: Study, *, null: bool = False) -> dict[str, str]:
    """Those of a study."""
    return dict(notes_of(known, expand(known, null=null)))


def test_a_candidate_on_an_emulated_drive_is_named_as_that_and_no_other() -> None:
    """In the words of the exports."""
    assert notes(study(DRIVE)) == {"disk": "EMULATED drive"}
    assert notes(study()) == {}


def test_a_null_study_says_so_of_both_names() -> None:
    """Emulated or not."""
    found = notes(nulled(study(DRIVE)), null=True)
    assert found.keys() == {"disk", "disk-again"}
    assert set(found.values()) == {"NULL STUDY: both candidates are alike in all; EMULATED drive"}


@pytest.mark.parametrize("name", ["disk", "memory"])
def test_another_mix_than_the_specified_one_is_told_of_every_candidate(name: str) -> None:
    """As above every figure."""
    known = study(("load:\n", "load:\n  profile: hammerdb\n"))
    assert notes(known)[name].startswith("PROFILE HAMMERDB")


def test_a_database_that_may_lose_what_it_acknowledged_is_told_of_every_candidate() -> None:
    """With the setting that does it."""
    known = study(("  memory: 1 GiB\n", "  memory: 1 GiB\n  settings: {fsync: off}\n"))
    assert notes(known)["disk"] == "NOT DURABLE: fsync off"
