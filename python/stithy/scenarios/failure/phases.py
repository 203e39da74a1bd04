"""The phases of a window under a fault: what the whole time of each is."""

from collections.abc import Sequence

from stithy.results.phases import Phase, cut_phases
from stithy.scenarios.failure.declared import PHASES

PAUSE_LEAST_S = 1.0
"""Own: shorter ones have no whole second, and belong to what surrounds them."""


def list_phases(edges: Sequence[float], gap: tuple[float, float] | None) -> list[Phase]:
    """List the parts of a measurement, Unix time; a phase may have several or none.

    `edges`: its begin, when the fault struck, when it was healed, when all was whole again, its
    end. `gap`: when its longest time without a commit began, and how long it was: the pause, if it
    began while the fault lasted or redundancy was restored, or before with half of it after.
    """
    names = [name for name in PHASES if name != "pause"]
    edges = [min(edge, edges[-1]) for edge in edges]  # a repair may outlast the users
    pairs = zip(names, edges, edges[1:], strict=False)
    phases = [Phase(name, from_s, to_s) for name, from_s, to_s in pairs if to_s > from_s]
    if gap is None or gap[1] < PAUSE_LEAST_S:
        return phases
    _, struck_s, _, whole_s, end_s = edges
    pause = Phase("pause", max(gap[0], struck_s), min(gap[0] + gap[1], end_s))
    # Half of it at least is after the strike: a stall that only ends then is no work of the fault.
    is_mostly_after = 2 * (pause.to_s - pause.from_s) >= gap[1]
    is_of_fault = pause.from_s < max(whole_s, struck_s) and is_mostly_after
    return cut_phases(phases, pause) if is_of_fault else phases
