"""Examples of what is said and made: those of the wire, a window with its step, a dead process."""

from pathlib import Path

from stithy.hosts.processes import ProcessIdentity
from stithy.plan.steps import Cost, Step, WindowPlan
from stithy.point import Point

WIRE = Path(__file__).resolve().parents[2] / "wire/examples"
WINDOW = WindowPlan(
    "w-disk-u4-b0", "disk", Point.of(users=4), 0, 0, 5.0, 20.0, 1, ("hammer",), checkpoint=True
)
STEP = Step(WINDOW.id, "window", "disk", Cost(29.0, 40.0, 0, 0), WINDOW)
DEAD = ProcessIdentity("another boot", 1, 1)


def wire_example(name: str) -> str:
    """An example by its name, such as `message.second` or `drive/answer.stats`."""
    return (WIRE / f"{name}.json").read_text()
