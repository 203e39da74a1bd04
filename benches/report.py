"""What the report of a study costs: time, memory, and bytes of its page, as one whole process.

Runs are made up in `target/bench-report`, which is not counted, and stay there for the next time.
`--quick` makes a small one, to see whether it works, and keeps no numbers;
`--only=usual` takes one.
"""

import shutil
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import processes
from fabricated import Size, fabricate
from kept import TARGET_MISSED, keep

PLACE = Path(__file__).resolve().parents[1] / "target" / "bench-report"
ROUNDS = 3
PAGE_BYTES_MOST = 3_000_000
FIGURES = 25
"""The page may have so many bytes with so many figures, and in proportion with more."""


@dataclass(frozen=True)
class Case:
    """A study of some size, and what its report may cost; None: no target."""

    name: str
    size: Size
    wall_s_most: float | None
    memory_bytes_most: int | None


CASES = (
    Case("usual", Size(2, 6, 6), 15.0, None),
    Case("large", Size(10, 12, 20), 60.0, 1_000_000_000),
)
QUICK = (Case("quick", Size(2, 3, 2, ramp_up_s=5, duration_s=15), None, None),)


@dataclass(frozen=True)
class Cost:
    """What the process that reports took, and what it left."""

    wall_s: float
    cpu_s: float
    peak_bytes: int
    page_bytes: int
    figures: int


def main(words: Sequence[str]) -> int:
    """Measure and print; 99 where a target is missed."""
    quick = "--quick" in words
    only = next((word.removeprefix("--only=") for word in words if word.startswith("--only=")), "")
    rounds = 1 if quick else ROUNDS
    costs: dict[str, list[Cost]] = {}
    missed = []
    for case in QUICK if quick else CASES:
        if only in ("", case.name):
            root = made(case)
            costs[case.name] = [measured(root) for _ in range(rounds)]
            middle = typical(costs[case.name])
            print(line(case, middle), flush=True)
            missed += [f"{case.name}: {what}" for what in too_much(case, middle)]
    if not quick:
        keep("report", {"rounds": rounds}, {"costs": costs})
    for text in missed:
        print(f"missed: {text}")
    return TARGET_MISSED if missed else 0


def made(case: Case) -> Path:
    """The directory of a made-up run of this size."""
    root = PLACE / case.name
    whole = PLACE / f"{case.name}.whole"
    if not whole.exists() or whole.read_text() != str(asdict(case.size)):
        shutil.rmtree(root, ignore_errors=True)
        fabricate(root, case.size)
        whole.write_text(str(asdict(case.size)))
    return root


def measured(root: Path) -> Cost:
    """One report of the run, made anew."""
    ended = processes.run([sys.executable, "-m", "stithy", "report", str(root)])
    page = (root / "report.html").stat().st_size
    figures = len(list((root / "report" / "figures").glob("*.svg")))
    return Cost(ended.wall_s, ended.cpu_s, ended.peak_bytes, page, figures)


def typical(costs: Sequence[Cost]) -> Cost:
    """The round whose wall time is the median."""
    middle = statistics.median_low([each.wall_s for each in costs])
    return next(each for each in costs if each.wall_s == middle)


def too_much(case: Case, cost: Cost) -> list[str]:
    """The targets that are missed, in words."""
    allowed = PAGE_BYTES_MOST * max(1.0, cost.figures / FIGURES)
    limits = (
        ("seconds", cost.wall_s, case.wall_s_most),
        ("bytes of memory", cost.peak_bytes, case.memory_bytes_most),
        ("bytes of the page", cost.page_bytes, allowed),
    )
    return [
        f"{value:,.0f} {what}, {most:,.0f} at most"
        for what, value, most in limits
        if most is not None and value > most
    ]


def line(case: Case, cost: Cost) -> str:
    """What was measured, in words."""
    size = case.size
    return (
        f"{case.name}, {size.candidates} candidates × {size.levels} levels × {size.blocks} blocks: "
        f"{cost.wall_s:.1f} s ({cost.cpu_s:.1f} s of CPU), {cost.peak_bytes / 1e6:,.0f} MB, "
        f"page {cost.page_bytes / 1e6:.2f} MB with {cost.figures} figures"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
