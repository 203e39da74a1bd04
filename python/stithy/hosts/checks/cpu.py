"""Whether the clock is right, and how CPUs are clocked and sleep: both move response times."""

from collections.abc import Iterator

from stithy.needs import Judgement, Machine
from stithy.units import format_duration

SLOW_SOURCES = frozenset({"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"})
"""Each reading takes a microsecond or more, and a system call."""


def judge_cpu(machine: Machine) -> Iterator[Judgement]:
    """Judge the clock, then the CPUs."""
    source = machine.facts["clock_source"]
    if source.value is None:
        yield Judgement("clock source", "unknown", source.missing_because or "")
    elif source.value in SLOW_SOURCES:
        remedy = "look in the kernel log (dmesg) for the reason why it does not use tsc"
        yield Judgement("clock source", "disturbing", f"{source.value}, which is slow", remedy)
    else:
        yield Judgement("clock source", "there", str(source.value))
    yield _judge_clock(machine)
    yield _count_cpus(machine)
    yield _judge_governor(machine)
    yield _judge_idle(machine)


def _judge_clock(machine: Machine) -> Judgement:
    """It matters to the times that a report tells, and where logs of two hosts are compared."""
    match machine.clock_is_synchronised():
        case True:
            return Judgement("clock", "there", "synchronised")
        case False:
            found = "the kernel reports it as not synchronised"
            sudo = "" if machine.is_root else "sudo "
            return Judgement("clock", "unknown", found, f"{sudo}timedatectl set-ntp true")
        case _:
            return Judgement(
                "clock", "unknown", ("the kernel does not report whether it is synchronised")
            )


STEADY_GOVERNORS = frozenset({"performance"})
DEEP_S = 50e-6
"""From here on waking up is a good part of what an NVMe drive takes to answer."""

CPU0 = "/sys/devices/system/cpu/cpu0"


def _count_cpus(machine: Machine) -> Judgement:
    cpus, model = machine.facts["cpus"].value, machine.facts["cpu_model"].value
    found = f"{cpus}{f' of {model}' if model else ''}"
    if cpus == 1:
        remedy = "add a second CPU: driver, database and emulated drives share this one"
        return Judgement("CPUs", "disturbing", found, remedy)
    return Judgement("CPUs", "there", found)


def _judge_governor(machine: Machine) -> Judgement:
    fact = machine.facts["cpu_governor"]
    if fact.value is None:
        return Judgement("CPU governor", "unknown", fact.missing_because or "")
    if set(str(fact.value).split(", ")) <= STEADY_GOVERNORS:
        return Judgement("CPU governor", "there", str(fact.value))
    remedy = f"{_sudo(machine)}cpupower frequency-set --governor performance"
    return Judgement("CPU governor", "disturbing", str(fact.value), remedy)


def _judge_idle(machine: Machine) -> Judgement:
    """The deepest state that is not disabled, by how long a CPU takes to leave it."""
    states = [each for each in machine.names(f"{CPU0}/cpuidle") if each.startswith("state")]
    if not states:
        return Judgement("deep idle", "unknown", "the kernel shows no idle states")
    enabled = [each for each in states if _of(machine, each, "disable") != "1"]
    by_latency = [(float(_of(machine, each, "latency") or 0) * 1e-6, each) for each in enabled]
    latency_s, state = max(by_latency, default=(0.0, ""))
    found = f"{_of(machine, state, 'name') or 'none'}, left in {format_duration(latency_s)}"
    if latency_s < DEEP_S:
        return Judgement("deep idle", "there", found)
    # Emulated drives keep CPUs awake while they are up; directories have nobody who would.
    remedy = f"{_sudo(machine)}cpupower idle-set --disable-by-latency {DEEP_S * 1e6:.0f}"
    return Judgement("deep idle", "disturbing", found, remedy)


def _of(machine: Machine, state: str, what: str) -> str | None:
    return machine.text(f"{CPU0}/cpuidle/{state}/{what}")


def _sudo(machine: Machine) -> str:
    return "" if machine.is_root else "sudo "
