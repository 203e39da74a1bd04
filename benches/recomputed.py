"""Is every number of a report what the run's rawest files give? By a way that shares no code.

`recomputed.py RUN [EARLIER …]`: writes the run's report as Markdown and JSON, held against earlier
runs where some are named, and walks every number of both, of the tables of its windows, and of
those of the report (`tests/recompute/`). Shows how many numbers were checked, which differ, which
have no second way and why; 99 where any is unexplained.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from recompute.walk import recompute
from support.reported import write_report


def main(words: list[str]) -> int:
    """Write, walk, show."""
    if not words:
        print("recomputed.py RUN [EARLIER …]", file=sys.stderr)
        return 2
    root, *earlier = map(Path, words)
    for each in earlier:
        write_report(each, ("json",))
    write_report(root, ("md", "json"), earlier)
    found = recompute(root, earlier)
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
