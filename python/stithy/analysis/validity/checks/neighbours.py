"""Was the machine left to the window, and the same as before the other blocks?"""

from collections.abc import Iterator

from stithy.analysis.validity.baseline import Baseline, Off
from stithy.analysis.validity.record import WindowRecord
from stithy.analysis.validity.surroundings import (
    OTHERS_CPU_SHARE,
    STEAL_SHARE,
    Watched,
    is_disk_shared,
)
from stithy.units import format_size
from stithy.validity import Check, Flag, Reason, Row

NAME = "neighbours"
ORDER = 80

INTERFERENCE = Flag(
    "interference",
    "There was interference: {seen}.",
    "Let nothing else run on this machine. Interference may affect the candidates of a block "
    "differently.",
)

NOT_QUIET = Flag(
    "another candidate not quiet",
    "Storage that was not measured was not quiet: {size} were read or written on that of {names}.",
    "Find the program that uses it. It may take CPU or bandwidth from the measured candidate.",
)

MACHINE_CHANGED = Flag(
    "the machine changed",
    "The machine had changed: in the baseline check before this block {off}.",
    "Find out whether other programs ran, or CPUs were throttled. All candidates of the block "
    "met the same conditions, but its values may not be typical of this machine.",
)


IDLE_BYTES = 2**20
"""Own: a file system that nobody uses writes some blocks about itself now and then."""


def interference(around: Row | None, watched: Watched) -> Reason | None:
    """Others used CPUs or the disks under the volumes, or the hypervisor gave CPUs to others."""
    seen = [*_others(around)] if around is not None else []
    stolen = watched.steal_share
    if stolen is not None and stolen > STEAL_SHARE:
        seen.append(f"the hypervisor gave {100 * stolen:.0f} % of the CPUs to others")
    return Reason(INTERFERENCE, {"seen": "; ".join(seen)}) if seen else None


def _others(around: Row) -> Iterator[str]:
    who = f" ({around['others_names']})" if around["others_names"] else ""
    cpus = around["others_cpu_s"] / around["span_s"] if around["span_s"] else 0.0
    if cpus > OTHERS_CPU_SHARE * around["cpus"]:
        yield f"other programs used {cpus:.1f} of {around['cpus']} CPUs{who}"
        who = ""
    if is_disk_shared(around):
        moved, disks = format_size(around["others_here_bytes"]), format_size(around["disks_bytes"])
        yield f"other programs moved up to {moved} of {disks} on the disks under the volumes{who}"


def not_quiet(around: Row | None) -> Reason | None:
    """Devices of other candidates were used while this one was measured."""
    if around is None or (around["idle_bytes"] or 0) <= IDLE_BYTES:
        return None
    texts = {"size": format_size(around["idle_bytes"]), "names": around["idle_names"] or "others"}
    return Reason(NOT_QUIET, texts)


def machine(baseline: Baseline | None) -> Reason | None:
    """The baseline check before its block was far off the others.

    Source: docs/explanation/method.md, "Baseline checks of the machine".
    """
    if baseline is None or not baseline.off:
        return None
    return Reason(MACHINE_CHANGED, {"off": ", ".join(map(_off, baseline.off))})


def _off(off: Off) -> str:
    """`one CPU did 23 % less`, `reads took 40 % longer`."""
    percent = f"{100 * abs(off.share):.0f} %"
    if off.gauge.is_rate:
        return f"{off.gauge.what} did {percent} {'less' if off.share < 0 else 'more'}"
    return f"{off.gauge.what} took {percent} {'longer' if off.share > 0 else 'shorter'}"


CHECKS: tuple[Check[WindowRecord], ...] = (
    Check(("surroundings",), lambda of: interference(of.around, of.watched)),
    Check(("surroundings",), lambda of: not_quiet(of.around)),
    Check(("baseline",), lambda of: machine(of.baseline)),
)
