"""Faults of plug-ins of one's own are named with their place, before or while they are used."""

from dataclasses import replace
from pathlib import Path

import pytest

from fakes.clock import HurriedClock
from stithy.collectors.collector import Collector, Scope
from stithy.errors import UserError
from stithy.plan.expand import expand
from stithy.plan.scenario import PlannedScenario
from stithy.plan.steps import Step
from stithy.registry import plugins
from stithy.results.layout import RunDirectory
from stithy.results.tables import STOPPED
from stithy.run.equip import Tools
from stithy.run.preflight import check_machine
from stithy.run.sampler import Sampler
from stithy.study.load import read_study

STUDY = """study: Where can more be noted?
candidates: {disk: {path: /var/tmp/a}, memory: {path: /dev/shm/a}}
scenario: {notes: {lines: [50], repeat: 1}}
"""
FAILING = '''"""A collector that fails."""
from stithy.collectors.collector import Collector
from stithy.metrics import CollectedMetric

class Failing:
    def sample(self):
        return {}["pgmajfault"]

    def close(self):
        pass

FAILURES = CollectedMetric("failures_per_s", "1/s", "failures", "lower")
PLUGINS = (Collector("failing", "failures", (FAILURES,), create=lambda _: Failing()),)
'''


def _misname(step: Step) -> Step:
    return replace(step, window=step.window and replace(step.window, activities=("noot",)))


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize("name", ["noot", "synk"])
def test_a_missing_plug_in_is_named_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """An activity that nobody does, and a kind of step."""
    (tmp_path / "s.yaml").write_text(STUDY)
    file = read_study(tmp_path / "s.yaml")
    steps = expand(file.study).steps
    wrong = [_misname(step) if name == "noot" else replace(step, kind=name) for step in steps]
    monkeypatch.setattr(plugins(PlannedScenario)["notes"], "plan_steps", lambda *_: wrong)
    with pytest.raises(UserError, match=f"names `{name}`, which is no"):
        check_machine(file, RunDirectory(tmp_path / "run"), "0" * 12, Tools(), clean=False)


def test_a_failing_collector_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the reason that its series have, which the report shows."""
    (tmp_path / "collectors").mkdir()
    (tmp_path / "collectors/failing.py").write_text(FAILING)
    monkeypatch.setenv("STITHY_PLUGINS", str(tmp_path))
    failing = {"failing": plugins(Collector)["failing"]}
    sampler = Sampler(Scope((), proc=tmp_path, clock=HurriedClock()), failing)
    sampler.start()
    missing = [str(timed.sample.missing_because) for timed in sampler.stop()]
    at = f"{STOPPED}KeyError: 'pgmajfault', at {tmp_path}/collectors/failing.py:7"
    assert any(because.startswith(at) for because in missing), missing
