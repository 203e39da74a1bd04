"""Which studies agents can drive."""

from support.studies import problems, study, study_text

AGENTS = "  agents: [host-a, host-b, host-c]\n"


def _whys(*changes: tuple[str, str], users: str = "[3, 6]", load: str = "") -> list[str]:
    section = ("  users: [1, 4]\n", f"  users: {users}\n{AGENTS}{load}")
    return [f"{found.problem}: {found.remedy}" for found in problems(study_text(section, *changes))]


def test_agents_stand_for_the_calibration_of_this_host() -> None:
    """Which would say nothing of them."""
    load = study(("  users: [1, 4]\n", f"  users: [3, 6]\n{AGENTS}")).load
    assert (load.agents, load.calibrate) == (("host-a", "host-b", "host-c"), False)
    assert _whys() == []


def test_what_several_hosts_cannot_do_is_refused() -> None:
    """By name, with what can be done instead."""
    cases = {
        "fewer users or connections than agents": _whys(users="[2, 6]"),
        "a calibration of this host beside agents": _whys(load="  calibrate: true\n"),
        "an agent named twice": problems_of_names("[a, a]"),
    }
    for expected, found in cases.items():
        assert len(found) == 1, (expected, found)
        assert expected in found[0]
    assert "connections" in _whys(load="  connections: 2\n")[0]


def problems_of_names(names: str) -> list[str]:
    """What is wrong with a list of agents."""
    text = study_text(("  users: [1, 4]\n", f"  users: [3, 6]\n  agents: {names}\n"))
    return [found.problem for found in problems(text)]
