"""How many CPUs a server may use: of the study, of a candidate, or of a point."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from fakes.machine import FakeMachine
from stithy.errors import PreconditionError
from stithy.hosts.runner import LocalRunner, Runner
from stithy.results.files import read_manifest, read_run
from stithy.results.layout import RunDirectory
from stithy.run.equip import Tools
from stithy.run.preflight import check_machine
from stithy.secrets import Secret
from stithy.study.load import read_study
from stithy.wire.hammer import Hammer
from support.faked_run import FakedRun
from support.running import write_study

pytestmark = pytest.mark.usefixtures("own_state")

Cpus = tuple[int, ...] | None


@dataclass
class EightCpus(FakedRun):
    """A run on a machine of eight CPUs; `driver`: those that the driver was given."""

    driver: list[Cpus] = field(default_factory=list)

    @property
    def tools(self) -> Tools:
        """The fakes, and what they were asked."""

        def hammer(runner: Runner, cpus: Cpus) -> Callable[[Secret], Hammer]:
            del runner
            self.driver.append(cpus)
            return lambda url: self.hammer

        machine = lambda run_id: FakeMachine(  # noqa: E731 one of a dozen such seams
            cpus=frozenset(range(8)), runner=LocalRunner({"STITHY_RUN": run_id})
        )
        return replace(super().tools, host=machine, hammer=hammer)

    def measured(self) -> dict[tuple[str, str], int | None]:
        """By candidate and point how many CPUs its server had, as the results say."""
        assert self.run().end == "finished"
        rows = read_run(self.out).window.select("candidate", "point", "server_cpus").rows()
        return {(candidate, point): count for candidate, point, count in rows}

    def given(self, candidate: str) -> Collection[Cpus]:
        """The CPUs of the servers on a candidate's volume that worked for users."""
        place = str(self.root / candidate)
        starts = [start for start in self.engine.starts if str(start.data).startswith(place)]
        assert all(each.cpus is None for each in starts if each.loading)
        return {each.cpus for each in starts if not each.loading}


def test_at_each_point_servers_have_the_cpus_of_that_point(tmp_path: Path) -> None:
    """Those of fewer are among those of more, and the driver never has any of them."""
    faked = EightCpus(tmp_path, users=(2,), vary="{database.cpus: [1, 4]}")
    counts = faked.measured()
    assert counts == {
        (name, f"users=2, database.cpus={count}"): count for name in "ab" for count in (1, 4)
    }
    assert {(7,), (4, 5, 6, 7)} <= {*faked.given("a")}
    assert faked.driver == [(0, 1, 2, 3)]
    manifest = read_manifest(faked.out / "manifest.json")
    assert manifest is not None
    assert manifest.database.cpus_varied
    assert "cpus" not in manifest.comparability


def test_a_candidate_may_have_cpus_of_its_own(tmp_path: Path) -> None:
    """The others have those of the study: all of them here, which leaves none to the driver."""
    faked = EightCpus(tmp_path, users=(2,), keys={"b": "cpus: 2"})
    assert faked.measured() == {("a", "users=2"): None, ("b", "users=2"): 2}
    assert faked.given("a") == {None}
    assert faked.given("b") == {(6, 7)}
    assert faked.driver == [None]
    manifest = read_manifest(faked.out / "manifest.json")
    assert manifest is not None
    assert [manifest.cpus_of(candidate) for candidate in manifest.candidates] == [None, (6, 7)]
    assert manifest.servers_differ


@pytest.mark.parametrize(("own", "vary", "warned"), [
    ("", "{database.cpus: [2, 8]}", True), ("", "{database.cpus: [2, 6]}", False),
    ("cpus: 2", "", True), ("cpus: 8", "", False), ("", "", False),
])  # fmt: skip
def test_a_plan_warns_where_servers_differ_and_the_largest_leaves_no_cpu(
    tmp_path: Path, own: str, vary: str, *, warned: bool
) -> None:
    """The driver then has more beside the smaller ones; without `cpus` a server may use all."""
    more = f", {own}" if own else ""
    places = {"a": f"{{path: {tmp_path / 'a'}}}", "b": f"{{path: {tmp_path / 'b'}{more}}}"}
    study = read_study(write_study(tmp_path / "s.yaml", places, users=(2,), vary=vary))
    tools = EightCpus(tmp_path).tools
    found = check_machine(study, RunDirectory(tmp_path / "out"), "1", tools, clean=False)
    said = [warning for warning in found.warnings if "leaves no CPU to the load driver:" in warning]
    assert len(said) == warned
    assert all("fewer than the 8" in each for each in said)


@pytest.mark.parametrize(("keys", "vary", "where"), [
    ({"b": "cpus: 9"}, "", "candidates.b.cpus"), ({}, "{database.cpus: [1, 9]}", "database.cpus"),
])  # fmt: skip
def test_more_cpus_than_there_are_are_refused_where_they_are_asked(
    tmp_path: Path, keys: dict[str, str], vary: str, where: str
) -> None:
    """Before anything is made."""
    with pytest.raises(PreconditionError) as refused:
        EightCpus(tmp_path, users=(2,), keys=keys, vary=vary).start()
    assert where in str(refused.value)
    assert "9 CPUs, and this process may use 8" in refused.value.problem
