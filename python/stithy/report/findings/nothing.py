"""Why a run gives no answer."""

from stithy.analysis.answers.findings import Nothing

NAME = "nothing"


def say(finding: Nothing, unit: str) -> str:
    """Why there is no answer, in one sentence."""
    return f"This run gives no answer: {finding.because}."
