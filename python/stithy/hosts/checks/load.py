"""What else runs on this machine now: it takes CPUs and devices from what is measured."""

from collections.abc import Iterator

from stithy.needs import Judgement, Machine

NAME = "load"

QUIET_CPU_SHARE = 0.1
"""Own: what a machine without work shows; above it windows of the same kind differ."""

QUIET_DEVICE_SHARE = 0.1
QUIET_STEAL_SHARE = 0.02
NAMED_MAX = 3


def judge(machine: Machine) -> Iterator[Judgement]:
    """CPUs, stolen time and block devices over a second."""
    activity = machine.activity()
    by_name = [f"{each.name} ({each.pid})" for each in activity.processes if each.cpus >= 0.05]
    busiest = ", ".join(by_name[:NAMED_MAX])
    found = f"CPUs {activity.cpu_share:.0%} busy"
    if activity.cpu_share > QUIET_CPU_SHARE:
        named = f": {busiest}" if busiest else ""
        remedy = "end it, or wait for its end"
        yield Judgement("other load", "disturbing", f"{found}{named}", remedy)
    else:
        yield Judgement("other load", "there", found)
    if activity.steal_share > QUIET_STEAL_SHARE:
        found = f"the hypervisor gives {activity.steal_share:.0%} of the CPUs to others"
        remedy = "use a machine with CPUs of its own"
        yield Judgement("stolen time", "disturbing", found, remedy)
    busy = {name: share for name, share in activity.devices.items() if share > QUIET_DEVICE_SHARE}
    found = ", ".join(f"{name} {share:.0%} of the time" for name, share in busy.items())
    if busy:
        remedy = "find who reads or writes: iotop, or pidstat -d"
        yield Judgement("busy devices", "disturbing", found, remedy)
    else:
        yield Judgement("busy devices", "there", "none")
