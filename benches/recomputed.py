"""Is every number of a report what the run's rawest files give? By a way that shares no code.

`recomputed.py RUN`: writes the run's report as Markdown and JSON, and walks every number of both,
of the tables of its windows, and of those of the report (`tests/recompute/`). Shows how many
numbers were checked, which differ, which have no second way and why; 99 where any is unexplained.
"""

import sys
from pathlib import Path

from stithy.report.context import context_of
from stithy.report.write import write_report_of
from stithy.results.read import read_run

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from recompute.walk import recompute


def main(words: list[str]) -> int:
    """Write, walk, show."""
    if len(words) != 1:
        print("recomputed.py RUN", file=sys.stderr)
        return 2
    root = Path(words[0])
    write_report_of(context_of(read_run(root)), ("md", "json"))
    found = recompute(root)
    print(f"{found.checked.total():,} numbers checked in {len(found.checked)} files and tables")
    for title, lines in (
        ("disagreements", found.disagreements),
        ("numbers without a second way, and without a reason", found.unexplained),
        ("not recomputed", [f"{place}: {why}" for place, why in found.excused.items()]),
    ):
        print(f"{len(lines):,} {title}", *lines, sep="\n  ")
    return 99 if found.disagreements or found.unexplained else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
