"""What the way from an image to its block device needs: programs, unless the kernel has a client.

`stithy.cluster.kernel` has the clients, and `stithy.cluster.image` goes the way.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from stithy.cluster.kernel import KERNELS, Kernel
from stithy.needs import Judgement, Machine, Need

THROUGH_PROGRAMS = "QEMU, nbdfuse and a loop device"


@dataclass(frozen=True, kw_only=True)
class UnlessKernel(Need):
    """A need of an image where no client of the kernel can be used.

    `limited`: limits of the image must hold, which they do not on all ways.
    """

    need: Need
    limited: bool = False

    def judge(self, machine: Machine) -> Judgement:
        """That of the need, or that the kernel does without."""
        for each in _fit(self.limited):
            if machine.names(str(each.sign)) and all(map(machine.program, each.programs)):
                what = self.need.judge(machine).what
                return Judgement(what, "there", f"not needed: images go by {each.kind}")
        return self.need.judge(machine)


def unless_kernel(needs: Sequence[Need], *, limited: bool = False) -> tuple[Need, ...]:
    """These needs, where no client of the kernel can be used."""
    return tuple(UnlessKernel(need=each, why=each.why, limited=limited) for each in needs)


def way(*, limited: bool) -> str:
    """How an image goes on this machine now, and why a client that is there is not used."""
    reasons = []
    for each in _fit(limited):
        if (why := each.why_not()) is None:
            return each.kind
        if each.sign.exists():
            reasons.append(f"{each.kind}: {why}")
    return f"{THROUGH_PROGRAMS} ({'; '.join(reasons)})" if reasons else THROUGH_PROGRAMS


def other_way() -> str | None:
    """How images without a limit go, where those with one go otherwise on this machine now."""
    free, limited = (
        next((each.kind for each in _fit(kept) if each.why_not() is None), None)
        for kept in (False, True)
    )
    return free if free != limited else None


def _fit(limited: bool) -> list[Kernel]:
    return [each for each in KERNELS if each.limits or not limited]
