"""What a single candidate reached."""

from stithy.analysis.answers.findings import Alone
from stithy.report.findings.limits import clause
from stithy.report.words.wording import (
    capital,
    count,
    plural,
    took,
    value,
)

NAME = "alone"


def say(finding: Alone, unit: str) -> str:
    """What the candidate reached and what limited it; then how long its users waited."""
    windows = "one window" if finding.windows == 1 else plural(finding.windows, "window")
    at, name, metric = capital(finding.point.at(unit)), finding.candidate, finding.metric
    shown = (
        f"{at}, {name} completed {count(finding.value)} {metric.noun} in {windows}"
        f"{clause(finding.limits)}."
        if metric.known.source == "window"
        else f"{at}, the {metric.noun} of {name} came to {value(metric, finding.value)} in "
        f"{windows}."
    )
    if finding.p95_s is not None:
        shown += f" Its p95 response time was {took(finding.p95_s)}."
    return f"{shown} There is no second candidate to compare it with."
