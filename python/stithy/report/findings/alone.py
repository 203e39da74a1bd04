"""What a single candidate reached."""

from stithy.analysis.answers.findings import Alone
from stithy.report.findings.limits import clause
from stithy.report.words.wording import (
    count,
    plural,
    took,
)

NAME = "alone"


def say(finding: Alone, unit: str) -> str:
    """What the candidate reached and what limited it; then how long its users waited."""
    windows = "one window" if finding.windows == 1 else plural(finding.windows, "window")
    shown = (
        f"At {finding.point.in_words(unit)}, {finding.candidate} completed "
        f"{count(finding.nopm)} new orders per minute in {windows}{clause(finding.limits)}."
    )
    if finding.p95_s is not None:
        shown += f" Its p95 response time was {took(finding.p95_s)}."
    return f"{shown} There is no second candidate to compare it with."
