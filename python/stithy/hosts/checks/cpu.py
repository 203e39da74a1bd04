"""How CPUs are clocked and how deeply they sleep: both move response times, neither is an error."""

from collections.abc import Iterator

from stithy.needs import Judgement, Machine
from stithy.units import format_duration

NAME = "cpu"

STEADY_GOVERNORS = frozenset({"performance"})
DEEP_S = 50e-6
"""Own: from here on waking up is a good part of what an NVMe drive takes to answer."""

CPU0 = "/sys/devices/system/cpu/cpu0"


def judge(machine: Machine) -> Iterator[Judgement]:
    """The number of CPUs, their governor, their deepest idle state."""
    yield _number(machine)
    yield _governor(machine)
    yield _idle(machine)


def _number(machine: Machine) -> Judgement:
    cpus, model = machine.fact("cpus").value, machine.fact("cpu_model").value
    found = f"{cpus}{f' of {model}' if model else ''}"
    if cpus == 1:
        remedy = "give this machine a second one: driver, database and emulated drives share it"
        return Judgement("CPUs", "disturbing", found, remedy)
    return Judgement("CPUs", "there", found)


def _governor(machine: Machine) -> Judgement:
    fact = machine.fact("cpu_governor")
    if fact.value is None:
        return Judgement("CPU governor", "unknown", fact.missing_because or "")
    if set(str(fact.value).split(", ")) <= STEADY_GOVERNORS:
        return Judgement("CPU governor", "there", str(fact.value))
    remedy = f"{_sudo(machine)}cpupower frequency-set --governor performance"
    return Judgement("CPU governor", "disturbing", str(fact.value), remedy)


def _idle(machine: Machine) -> Judgement:
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
