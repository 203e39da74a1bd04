"""Load from elsewhere: networks as a study has them, and agents."""

import pytest

from stithy.point import Point, measure_magnitude
from stithy.study.load_keys import Load
from stithy.units import format_bit_rate, parse_bit_rate
from support.studies import load, problems, study, study_text

VARIED = ("study:", "vary: {load.network: [local, 1 Gbit/s, 100 Mbit/s]}\nstudy:")


def test_a_network_varies_as_any_key() -> None:
    """Local is none; a rate is one number however it is written, and has a word for files."""
    found = study(VARIED)
    assert study().load.link_bits_per_s is None
    rates = [found.at(point).load.link_bits_per_s for point in found.combinations]
    assert rates == [None, 1e9, 1e8]
    assert [point.slug for point in found.combinations] == [
        "networklocal", "network1gbitps", "network100mbitps",
    ]  # fmt: skip
    assert Point.parse("users=4, load.network=1 Gbit/s").values["load.network"] == "1 Gbit/s"
    assert measure_magnitude("10 Gbit/s") == 1e10


@pytest.mark.parametrize("rate", ["1 Gbit/s", "100 Mbit/s", "2.5 Gbit/s"])
def test_a_rate_of_bits_is_read_as_it_is_written(rate: str) -> None:
    """And written as it was read."""
    assert format_bit_rate(parse_bit_rate(rate)) == rate


@pytest.mark.parametrize("text", ["1 Mbit/s", "1 Tbit/s", "far", "10", "200 Gbit/s"])
def test_what_is_no_network_is_refused_at_its_key(text: str) -> None:
    """Too slow, too fast, and other words; here and where it varies."""
    assert [
        "load.network" in each.problem for each in problems(study_text(load(f"network: {text}")))
    ]
    varied = ("study:", f"vary: {{load.network: [local, {text}]}}\nstudy:")
    assert len(problems(study_text(varied))) == 1


TENANTS = ("study:", "scenario: {noisy-neighbour: {tenants: 2, rate: [9]}}\nstudy:")
URLS = (
    ("disk: {path: /var/tmp/stithy}", "disk: {url: postgresql://me@h/d}"),
    ("memory: {path: /dev/shm/stithy}", "memory: {url: postgresql://me@h/e}"),
    ("  memory: 1 GiB\n", "  restore: reload\n"),
)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ((("postgresql", "sqlite"),), "sqlite, which no load driver reaches over a network"),
        ((("postgresql", "mysql"),), "mysql, which no load driver reaches over a network"),
        ((load("agents: [a]"),), "a network of Stithy's to agents"),
        (URLS, "a network of Stithy's to a database by URL"),
        (
            (("study:", "scenario: {noisy-neighbour: {tenants: 2, rate: [9]}}\nstudy:"),),
            "several databases",
        ),
    ],
)
def test_what_has_no_network_of_its_own_is_refused(
    changes: tuple[tuple[str, str], ...], expected: str
) -> None:
    """Each by name, with what can be done instead, also where one of several values asks for it."""
    for asked in (load("network: 1 Gbit/s"), VARIED):
        found = problems(study_text(*changes, asked))
        assert [each for each in found if expected in each.problem and each.remedy], found


def test_a_load_says_how_fast_its_network_is() -> None:
    """In one way, so that a value that is given twice is known."""
    assert Load.model_validate({"users": [1], "network": "1000 Mbit/s"}).network == "1 Gbit/s"


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
