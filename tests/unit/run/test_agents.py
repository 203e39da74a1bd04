"""Which agents may drive a study, as `plan` and `run` ask before anything begins."""

from dataclasses import replace

import pytest

from stithy.agents import serving
from stithy.agents.link import Member, refuse_unfit
from stithy.errors import PreconditionError, UserError
from stithy.plan.expand import expand
from stithy.run.agents import find_agents, refuse_distant, refuse_other_activities
from support.studies import study

FACTS = replace(serving.describe(), missing=None)


def test_an_agent_is_of_this_version_and_has_the_hammer() -> None:
    """A host with another Stithy would draw other users."""
    refuse_unfit(Member("a", "tcp://a:1", FACTS))
    for changed, because in (
        (replace(FACTS, version="0.0.9"), "of Stithy 0.0.9"),
        (replace(FACTS, missing="no hammer"), "no hammer"),
        (replace(FACTS, threads=2), "it has 2 threads"),
    ):
        with pytest.raises(PreconditionError, match=because):
            refuse_unfit(Member("a", "tcp://a:1", changed))


def test_agents_of_other_machines_do_not_reach_servers_of_this_one() -> None:
    """A network namespace of this machine does, by the socket; a container has its own /tmp."""
    near = Member("near", "tcp://a:1", FACTS)
    refuse_distant([near], FACTS)
    far = Member("far", "tcp://b:1", replace(FACTS, boot_id="another"))
    boxed = Member("boxed", "tcp://c:1", replace(FACTS, files=(1, 2)))
    with pytest.raises(PreconditionError, match="far, boxed cannot reach the databases"):
        refuse_distant([near, far, boxed], FACTS)


def test_a_scheduler_is_for_a_study_with_agents() -> None:
    """An option that would be dropped in silence is refused."""
    assert find_agents(study(), scheduler=None, tls=None) is None
    with pytest.raises(UserError, match="names no agents"):
        find_agents(study(), scheduler="127.0.0.1:1", tls=None)


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
        refuse_other_activities(named, replace(plan, steps=steps))

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
