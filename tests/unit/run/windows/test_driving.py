"""From a study's load to what the hammer is asked."""

from pathlib import Path

import pytest

from stithy.plan.expand import expand
from stithy.results.layout import WindowDirectory
from stithy.run.windows.driving import pace_of, request_of
from stithy.wire.jobs import Arrivals, BackToBack, Keyed, Pace, Profile, Rate, Think
from stithy.workload.program import RunRequest
from support.studies import study


def request(*lines: str) -> RunRequest:
    """What is asked in the first window of a study with these lines in its load."""
    text = "".join(f"  {line}\n" for line in lines)
    made = study(("  users: [1, 4]\n", f"  users: [1, 4]\n{text}"))
    [window, *_] = [step.window for step in expand(made).steps if step.kind == "window"]
    assert window is not None
    return request_of(made, window, WindowDirectory(Path("w")))


PACES: list[tuple[tuple[str, ...], Pace]] = [
    ((), BackToBack()),
    (("pace: keyed",), Keyed()),
    (("pace: {think: 2 s}",), Think(mean_s=2)),
    (("rate: 500/s",), Rate(per_s=500)),
    (("rate: 500/s", "arrivals: constant"), Rate(per_s=500, arrivals=Arrivals.CONSTANT)),
]


@pytest.mark.parametrize(("lines", "pace"), PACES)
def test_the_pace_is_that_of_the_study(lines: tuple[str, ...], pace: Pace) -> None:
    """A rate is a pace on the wire."""
    assert request(*lines).pace == pace
    text = "".join(f"  {line}\n" for line in lines)
    assert pace_of(study(("  users: [1, 4]\n", f"  users: [1, 4]\n{text}")).load) == pace


def test_pool_homes_reach_and_profile_are_those_of_the_study() -> None:
    """And ten users are at home in each warehouse with keyed pace."""
    asked = request("connections: 2", "touch: 50%", "profile: hammerdb", "users_per_warehouse: 4")
    assert (asked.connections, asked.warehouses_touched) == (2, 1)
    assert (asked.profile, asked.users_per_warehouse) == (Profile.HAMMERDB, 4)
    assert request("pace: keyed").users_per_warehouse == 10
    plain = request()
    assert (plain.connections, plain.warehouses_touched, plain.users_per_warehouse) == (None,) * 3
