"""Whatever `stithy doctor` tells of says what it needs, from the moment it is there."""

from types import ModuleType

import pytest

from fakes.machine import FakeMachine
from stithy.needs import Judgement, Need
from stithy.registry import plugins
from stithy.run.preparation.doctor import FAMILIES

MODULES = {
    f"{family} {name}": module for family in FAMILIES for name, module in plugins(family).items()
}


@pytest.mark.parametrize("module", MODULES.values(), ids=MODULES)
def test_a_plug_in_names_its_needs_and_why(module: ModuleType) -> None:
    """A person who lacks one is told for what."""
    assert isinstance(module.NEEDS, tuple)
    for need in module.NEEDS:
        assert isinstance(need, Need)
        assert need.why


@pytest.mark.parametrize("module", MODULES.values(), ids=MODULES)
def test_a_good_machine_has_all_that_a_plug_in_needs(module: ModuleType) -> None:
    """The made-up machine grows with what plug-ins ask for."""
    assert [each.judge(FakeMachine()).what for each in module.NEEDS if _lacks(each)] == []


def _lacks(need: Need) -> bool:
    return need.judge(FakeMachine()).state == "missing"


@pytest.mark.parametrize("module", plugins("check").values(), ids=plugins("check"))
def test_a_check_gives_judgements(module: ModuleType) -> None:
    """Each says what it speaks of and what was found."""
    for each in module.judge(FakeMachine()):
        assert isinstance(each, Judgement)
        assert each.what
        assert each.found
