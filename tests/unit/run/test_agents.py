"""Which agents may drive a study, as `plan` and `run` ask before anything begins."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fakes.agents import FakeAgents
from fakes.hammer import FakeHammer
from stithy.agents import serving
from stithy.agents.link import Member, refuse_unfit
from stithy.errors import PreconditionError, UserError
from stithy.plan.expand import expand
from stithy.run.agents import (
    find_agents,
    find_other_activities,
    refuse_blind,
    refuse_distant,
    require_shared,
)
from stithy.run.equip import Tools, find_placed_agents
from stithy.study.load import parse_study
from stithy.study.model import Study
from support.studies import problems, study, write_study

FACTS = replace(serving.describe(), missing=None)


def test_an_agent_is_of_this_version_and_has_the_hammer() -> None:
    """A host with another Stithy would draw other users."""
    refuse_unfit(Member("a", "tcp://a:1", FACTS))
    for changed, because in (
        (replace(FACTS, version="0.0.9"), "of Stithy 0.0.9"),
        (replace(FACTS, dask="2025.1"), f"a: it is of distributed 2025.1, this is {FACTS.dask}"),
        (replace(FACTS, missing="no hammer"), "no hammer"),
        (replace(FACTS, threads=2), "it has 2 threads"),
    ):
        with pytest.raises(PreconditionError, match=because):
            refuse_unfit(Member("a", "tcp://a:1", changed))


def test_agents_of_other_machines_do_not_reach_servers_of_this_one() -> None:
    """A network namespace of this machine does, by the socket; a container has its own /tmp."""
    near = Member("near", "tcp://a:1", FACTS)
    refuse_distant([near], FACTS, "cannot", "do")
    far = Member("far", "tcp://b:1", replace(FACTS, boot_id="another"))
    boxed = Member("boxed", "tcp://c:1", replace(FACTS, files=(1, 2)))
    with pytest.raises(PreconditionError, match="far, boxed cannot"):
        refuse_distant([near, far, boxed], FACTS, "cannot", "do")


BLOCK_IO = """study: x?
candidates: {{a: {candidate}}}
scenario: {{block-io: {{profiles: [sql], agents: [h1, h2], workers: {workers}{more}}}}}
"""


def read(candidate: str, workers: int = 4, more: str = "") -> Study:
    """A study of block I/O by two agents."""
    text = BLOCK_IO.format(candidate=candidate, workers=workers, more=more)
    return parse_study("study.yaml", text.encode())


def test_agents_of_block_io_share_a_directory(tmp_path: Path) -> None:
    """By what they see of it; what Stithy mounts is on its machine alone, and devices have none."""
    agents = FakeAgents(FakeHammer(), ("h1", "h2"))
    near = [Member(name, "tcp://a:1", FACTS) for name in agents.names]
    far = [near[0], Member("h2", "tcp://b:1", replace(FACTS, boot_id="another"))]
    here = serving.describe()
    refuse_blind(read(f"{{path: {tmp_path}/new}}"), agents, far)
    with pytest.raises(PreconditionError, match="no /nowhere/a on h1; no /nowhere/a on h2"):
        refuse_blind(read("{path: /nowhere/a}"), agents, near)
    drive = read("{drive: gp3}")
    refuse_blind(drive, agents, [replace(of, facts=here) for of in near])
    with pytest.raises(PreconditionError, match="h2 cannot see a: Stithy mounts it"):
        refuse_blind(drive, agents, [replace(near[0], facts=here), far[1]])
    with pytest.raises(UserError, match="a block device without a file system"):
        refuse_blind(read("{device: /dev/x, filesystem: none}"), agents, near)


class _BlindAgents(FakeAgents):
    def consult(self, function: Callable[[], Any]) -> dict[str, Any]:
        return {**super().consult(function), "h2": ""}


def test_a_directory_is_shared_if_agents_read_what_is_written_here(tmp_path: Path) -> None:
    """Of the same path on each host, which may be another directory, nobody can say so."""
    hammer, names = FakeHammer(), ("h1", "h2")
    require_shared(FakeAgents(hammer, names), [tmp_path])
    with pytest.raises(PreconditionError, match=": h2 does not see"):
        require_shared(_BlindAgents(hammer, names), [tmp_path])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("workers", "more", "said"), [
    (3, "", "3 fio cannot be dealt evenly to 2 agents"), (3, ", volumes: 2", ""),
    (64, ", volumes: 4", ""), (64, ", volumes: 5", "are 320 fio"),
    (2, ", verify: true", "the times in checksums"),
])  # fmt: skip
def test_each_agent_has_as_many_fio(workers: int, more: str, said: str) -> None:
    """Their sum is what the study says, so nothing is rounded; each host has its most."""
    text = BLOCK_IO.format(candidate="{path: /var/tmp/x}", workers=workers, more=more)
    found = [problem.problem for problem in problems(text)]
    assert bool(found) == bool(said)
    assert all(said in problem for problem in found)


def test_a_scheduler_is_for_a_study_with_agents() -> None:
    """An option that would be dropped in silence is refused."""
    assert find_agents(study(), scheduler=None, tls=None) is None
    with pytest.raises(UserError, match="names no agents"):
        find_agents(study(), scheduler="127.0.0.1:1", tls=None)


def test_what_is_wrong_with_agents_has_its_place_in_the_study(tmp_path: Path) -> None:
    """Of a load as of block I/O."""
    file = write_study(tmp_path, ("  users: [1, 4]\n", "  users: [3]\n  agents: [a, b]\n"))
    with pytest.raises(PreconditionError, match="study.yaml:11:11: nobody knows where") as refused:
        find_placed_agents(file, Tools())
    assert "agents: [a, b]" in refused.value.excerpt
    text = BLOCK_IO.format(candidate="{path: /var/tmp/x}", workers=4, more="").encode()
    other = replace(file, content=text, study=parse_study("s", text))
    with pytest.raises(PreconditionError, match="study.yaml:3:48: nobody knows where"):
        find_placed_agents(other, Tools())
    backup = ("study:", "scenario: {backup: {during: {users: 4}, agent: b}}\nstudy:")
    with pytest.raises(PreconditionError, match="study.yaml:1:48: nobody knows where"):
        find_placed_agents(write_study(tmp_path, backup), Tools())


def test_agents_drive_users_beside_what_needs_no_users_here() -> None:
    """A backup is compared with a ledger as far as it was when it began, and agents have theirs.

    No backup takes the link, so over a network is nothing but users.
    """

    def refuse(load: str, *activities: str, elsewhere: str = "agents: [a, b]") -> None:
        named = study(("  users: [1, 4]\n", f"  users: [3]\n  {elsewhere}\n{load}"))
        plan = expand(named)
        steps = tuple(
            replace(step, window=replace(step.window, activities=activities))
            if step.window
            else step
            for step in plan.steps
        )
        for error in find_other_activities(named, replace(plan, steps=steps)):
            raise error

    ledger = "  ledger: true\n"
    refuse(ledger, "hammer", "fault-server-killed", "migration-none")
    refuse("", "hammer", "backup")
    with pytest.raises(UserError, match="beside backup with a commit ledger"):
        refuse(ledger, "hammer", "backup")
    with pytest.raises(UserError, match="beside backup, cut"):
        refuse(ledger, "cut", "backup")
    refuse("", "hammer", elsewhere="network: 1 Gbit/s")
    with pytest.raises(UserError, match="windows have backup, too"):
        refuse("", "hammer", "backup", elsewhere="network: 1 Gbit/s")
