"""By which ways the drive program reaches the kernel here, and how short its times can be."""

from collections.abc import Iterator

from stithy.needs import Judgement, Machine
from stithy.units import format_duration

PROGRAM = "stithy-drive"

FLOOR_S = 50e-6
"""What a request takes at least while a database keeps the CPUs busy, however short the time
in its drive's profile. Measured on 2 CPUs: 47 µs for flushes of 15 µs (docs/evidence.md)."""


def judge_drives(machine: Machine) -> Iterator[Judgement]:
    """Judge each way; yield nothing where there is no program, which is reported elsewhere."""
    if path := machine.program(PROGRAM):
        yield from parse_transports(machine.says(path, "--transports"))
        floor = format_duration(FLOOR_S)
        found = f"about {floor} under load; shorter times of a profile cannot be emulated"
        yield Judgement("shortest drive time", "there", found)


def parse_transports(text: str) -> Iterator[Judgement]:
    """The program's lines, such as `ublk        not used  /dev/ublk-control is not there`."""
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        used, state = not rest.lstrip().startswith("not used"), rest.lstrip()
        shown = state.removeprefix("not ").removeprefix("used").strip()
        if shown:
            yield Judgement(f"drives by {name}", "there" if used else "absent", shown)
