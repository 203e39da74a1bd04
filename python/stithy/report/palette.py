"""One colour, marker and dash a candidate, and the colours of everything else, in light and dark.

Figures are drawn once, with the light colours as literals. The page turns each literal into a CSS
variable (`css_rules`), so that the same drawing serves both. Every role therefore has a literal of
its own, which no other role may use.
"""

from dataclasses import dataclass

# Okabe and Ito, "Color Universal Design" (2008), without yellow, which is invisible on white.
CANDIDATE_COLOURS = (
    ("#0072b2", "#4aa8e0"),
    ("#d55e00", "#f0883e"),
    ("#009e73", "#2fc79b"),
    ("#cc79a7", "#e29cc3"),
    ("#56b4e9", "#a5d8f5"),
    ("#e69f00", "#f5bf4f"),
    ("#000001", "#f0f0f1"),
)
MARKERS = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left")
DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (4, 1), (1, 3), (10, 4))

INK = ("#1b1f24", "#e6e9ed")
MUTED = ("#5b6470", "#a3adb8")
GRID = ("#e3e6ea", "#2c323a")
AXIS = ("#a9b0b9", "#5c6672")
PAPER = ("#fdfdfe", "#15181c")
MARK = ("#8a6d1f", "#d8b65a")

# Stacked shares: dark where the machine works, pale where it does nothing.
STATE_COLOURS = {
    "user": ("#33658a", "#5b9bc9"),
    "system": ("#86bbd8", "#a9d4ea"),
    "other": ("#9a8fb8", "#b8addb"),
    "iowait": ("#c8553d", "#e88368"),
    "idle": ("#e8eaee", "#2a2f36"),
}
WAIT_COLOURS = {
    "CPU": ("#d5dae1", "#3a424d"),
    "IO": ("#c8553c", "#e88368"),
    "LWLock": ("#33658b", "#5b9bc9"),
    "Lock": ("#7a4f9a", "#b08ad0"),
    "BufferPin": ("#588b6e", "#7fc49c"),
    "IPC": ("#a9829b", "#d3a9c4"),
    "Client": ("#d9a441", "#efc46c"),
    "Timeout": ("#7d8597", "#aab2c5"),
    "Extension": ("#86bbd7", "#a9d4ea"),
}
# Filled cells that carry a letter: pale in the light and deep in the dark, so that INK stands out.
LIMIT_COLOURS = {
    "users": ("#f3e3a2", "#5c5013"),
    "pool": ("#e3d3b4", "#584a2e"),
    "server-cpu": ("#f5b98a", "#7a3d12"),
    "host-cpu": ("#e2a07c", "#8a3208"),
    "device-latency": ("#9cc9ee", "#1f4f7a"),
    "device-rate": ("#74aede", "#123d66"),
    "log": ("#93d6c4", "#1c5a4b"),
    "checkpoints": ("#bfe0ac", "#365a24"),
    "locks": ("#cdb8e6", "#4d3a70"),
    "driver": ("#f2a9b2", "#7a2431"),
    "emulation": ("#e6bad4", "#6b2f55"),
    "several": ("#d9dde4", "#454c56"),
    "unknown": ("#f4f5f8", "#23282f"),
}
OTHER_LIMIT = ("#c9cbb4", "#4a4c3a")
OTHER_WAIT = ("#5d5470", "#9d92b8")

# Viridis (Smith and van der Walt, matplotlib 1.5), from few to many: away from the paper in both.
HEAT_COLOURS = (
    ("#addc30", "#472d7b"),
    ("#5ec962", "#3b528b"),
    ("#28ae80", "#2c728e"),
    ("#21918c", "#21918d"),
    ("#2c728e", "#28ae80"),
    ("#3b528b", "#5ec962"),
    ("#440154", "#fde725"),
)


@dataclass(frozen=True)
class Style:
    """How one candidate is drawn throughout: colour by literal, marker, dash."""

    colour: str
    marker: str
    dash: tuple[int, ...]


def styles(candidates: tuple[str, ...]) -> dict[str, Style]:
    """The style of each candidate by its place in the study; colours repeat with other dashes."""
    return {
        name: Style(
            CANDIDATE_COLOURS[index % len(CANDIDATE_COLOURS)][0],
            MARKERS[index % len(MARKERS)],
            DASHES[(index + index // len(CANDIDATE_COLOURS)) % len(DASHES)],
        )
        for index, name in enumerate(candidates)
    }


def roles() -> tuple[tuple[str, str], ...]:
    """Every (light, dark) pair that a figure may use."""
    return (
        *CANDIDATE_COLOURS, *STATE_COLOURS.values(), *WAIT_COLOURS.values(), OTHER_WAIT,
        *LIMIT_COLOURS.values(), OTHER_LIMIT, *HEAT_COLOURS, INK, MUTED, GRID, AXIS, PAPER, MARK,
    )  # fmt: skip


def css_rules() -> str:
    """CSS that redraws the light literals of every figure in their dark colours."""
    return "\n".join(
        f'.drawing [{attribute}="{light}"]{{{attribute}:{dark}}}'
        for light, dark in roles()
        for attribute in ("fill", "stroke")
    )
