"""Varied profiles are profiles: the drive program takes each that is shipped."""

import pytest

from stithy.drives.profiles import catalogue, check_profile
from stithy.drives.varied import vary
from stithy.plan.sensitivity import SHARE

pytestmark = pytest.mark.needs_drive


def test_the_drive_program_takes_every_shipped_profile_varied() -> None:
    """Worse and better; none of its rules is broken."""
    for shipped in catalogue().profiles:
        for worse in (True, False):
            varied = vary(shipped.text, SHARE, worse=worse)
            assert check_profile(varied.text, shipped.facts.name).assumed == shipped.facts.assumed
