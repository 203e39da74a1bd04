"""Whether the clock is right, and read quickly: every latency is read from it twice."""

from collections.abc import Iterator

from stithy.needs import Judgement, Machine

NAME = "clock"

SLOW_SOURCES = frozenset({"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"})
"""Each reading takes a microsecond or more, and a system call."""


def judge(machine: Machine) -> Iterator[Judgement]:
    """The clock's source, and whether it is synchronised."""
    source = machine.fact("clock_source")
    if source.value is None:
        yield Judgement("clock source", "unknown", source.missing_because or "")
    elif source.value in SLOW_SOURCES:
        remedy = "see in the kernel's log (dmesg) why it gave up tsc"
        yield Judgement("clock source", "disturbing", f"{source.value}, which is slow", remedy)
    else:
        yield Judgement("clock source", "there", str(source.value))
    yield _synchronised(machine)


def _synchronised(machine: Machine) -> Judgement:
    """It matters to the times that a report tells, and where logs of two hosts are compared."""
    match machine.clock_is_synchronised():
        case True:
            return Judgement("clock", "there", "synchronised")
        case False:
            found = "the kernel does not know it to be synchronised"
            sudo = "" if machine.is_root else "sudo "
            return Judgement("clock", "unknown", found, f"{sudo}timedatectl set-ntp true")
        case _:
            return Judgement("clock", "unknown", "the kernel does not tell whether it is right")
