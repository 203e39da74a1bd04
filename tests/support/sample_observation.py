"""An observation of a window in which nothing is near a limit, and what may be changed of it."""

from dataclasses import replace
from typing import Any

from stithy.analysis.bottlenecks.observation import Cpus, DeviceUse, Observation, Sessions
from stithy.analysis.instruments import Headroom

LITTLE = Headroom(100.0, 0.05, None)
"""What a driver is asked that could do twenty times as much."""


def observed(**changes: Any) -> Observation:
    """Four users without pauses on a server with half-idle CPUs; everything is watched.

    Of the four 0.8 wait for data, 0.8 for the log, 0.4 for locks, 1.6 are on a CPU.
    """
    usual = Observation(
        window_id="w", places=4, is_open=False, paced=False, under_way=4.0, headroom=LITTLE,
        sessions=sessions(cpu=1.6, device=0.8, log=0.8, locks=0.4), host=Cpus(4, 0.4),
        server=Cpus(2, 0.5), devices=disk(0.45, 2.0, 0.8),
        stalled_share=0.0,
    )  # fmt: skip
    return replace(usual, **changes)


def disk(
    used_share: float = 0.95, under_way: float = 8.0, reads_under_way: float = 2.5
) -> tuple[DeviceUse, ...]:
    """One device, nearly always in use."""
    return (DeviceUse("vda", used_share, under_way, reads_under_way),)


def sessions(looks: int = 60, **groups: float) -> Sessions:
    """Mean numbers of active sessions by what they did."""
    locks = {"Lock:tuple": groups["locks"]} if "locks" in groups else {}
    return Sessions(looks, sum(groups.values()), dict(groups), locks)
