"""A single candidate: what it reached, without a comparison."""

from stithy.analysis.answers.findings import Alone
from stithy.report.words.wording import count, plural, took

NAME = "alone"


def say(finding: Alone, unit: str) -> str:
    """What the candidate reached, in one sentence."""
    response = (
        f" with a 95th percentile of response time of {took(finding.p95_s)}"
        if finding.p95_s is not None
        else ""
    )
    windows = "one window" if finding.windows == 1 else plural(finding.windows, "window")
    return (
        f"At {plural(finding.users, unit)}, {finding.candidate} completed "
        f"{count(finding.nopm)} new orders per minute{response}, in {windows}; "
        "there is no second candidate to compare it with."
    )
