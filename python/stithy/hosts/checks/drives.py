"""By which ways the drive program reaches the kernel here, as it tells itself."""

from collections.abc import Iterator

from stithy.needs import Judgement, Machine

NAME = "drives"
PROGRAM = "stithy-drive"


def judge(machine: Machine) -> Iterator[Judgement]:
    """One judgement a way; nothing where there is no program, which is told elsewhere."""
    if path := machine.program(PROGRAM):
        yield from parse(machine.told(path, "--transports"))


def parse(text: str) -> Iterator[Judgement]:
    """The program's lines, such as `ublk        not used  /dev/ublk-control is not there`."""
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        used, state = not rest.lstrip().startswith("not used"), rest.lstrip()
        told = state.removeprefix("not ").removeprefix("used").strip()
        if told:
            yield Judgement(f"drives by {name}", "there" if used else "absent", told)
