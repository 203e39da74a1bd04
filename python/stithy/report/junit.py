"""The thresholds of a run as JUnit XML, which every CI system shows: one test case a threshold.

One suite; its properties tell the run and the validity of every window. What could not be judged
is an error and not a failure. The shape is that which Jenkins and GitLab read.
"""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from xml.etree import ElementTree

from stithy.analysis.decision import Outcome, ThresholdJudgement
from stithy.report.context import Context
from stithy.report.sections.answer import describe_judgement
from stithy.report.words import loads
from stithy.report.words.escape import replace_letters
from stithy.validity import INVALID, VALID

SUITE = "stithy.thresholds"

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, however it is escaped (section 2.2, production 2)."""


def write_junit(context: Context, judgements: Sequence[ThresholdJudgement]) -> bytes:
    """The document, in UTF-8; the same results give the same bytes."""
    root = ElementTree.Element("testsuites")
    outcomes = Counter(judgement.outcome for judgement in judgements)
    counts = {
        "tests": str(len(judgements)),
        "failures": str(outcomes[Outcome.NOT_MET]),
        "errors": str(outcomes[Outcome.NOT_JUDGED]),
        "skipped": "0",
        "time": "0",  # where the run has not ended, for the attribute must be a number
    }
    if (manifest := context.manifest) is not None:
        if manifest.ended_at_s is not None:
            counts["time"] = f"{manifest.ended_at_s - manifest.started_at_s:.3f}"
        began = datetime.fromtimestamp(manifest.started_at_s, UTC)
        counts["timestamp"] = began.strftime("%Y-%m-%dT%H:%M:%S")
    suite = _add(root, "testsuite", name=SUITE, **counts)
    _add_properties(suite, context)
    for judgement in judgements:
        _add_case(suite, judgement)
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _add_properties(suite: ElementTree.Element, context: Context) -> None:
    properties = _add(suite, "properties")
    if (manifest := context.manifest) is not None:
        _add(properties, "property", name="question", value=manifest.question)
        _add(properties, "property", name="end", value=manifest.end)
        _add(properties, "property", name="seed", value=str(manifest.seed))
    if notes := [each for each in (context.label, loads.write_footer(context.manifest)) if each]:
        _add(properties, "property", name="note", value="; ".join(notes))
    for window in context.evidence.windows:
        reasons = " ".join(reason.sentence for reason in window.reasons if reason.invalidates)
        shown = VALID if window.valid else f"{INVALID}: {reasons}"
        _add(properties, "property", name=f"window.{window.id}", value=shown)


def _add_case(suite: ElementTree.Element, judgement: ThresholdJudgement) -> None:
    case = _add(
        suite, "testcase", classname=SUITE, name=str(judgement.threshold), time="0"
    )  # what takes the time is the run
    shown = f"{judgement.outcome.value}: {describe_judgement(judgement)}"
    if judgement.outcome is Outcome.NOT_MET:
        _add(case, "failure", message=shown, type="threshold").text = _list_values(judgement)
    elif judgement.outcome is Outcome.NOT_JUDGED:
        _add(case, "error", message=shown, type="no-evidence").text = _list_values(judgement)
    else:
        _add(case, "system-out").text = _list_values(judgement)


def _list_values(judgement: ThresholdJudgement) -> str:
    threshold, unit = judgement.threshold, judgement.threshold.unit
    sides = ((threshold.left, judgement.left), (threshold.right, judgement.right))
    shown = "" if unit in ("", "share") else f" {unit}"
    known = (f"{side} = {'not known' if value is None else f'{value!r}{shown}'}"
             for side, value in sides)  # fmt: skip
    return _escape_illegal("\n".join(known))


def _add(parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.SubElement(
        parent, tag, {k: _escape_illegal(v) for k, v in attributes.items()}
    )


def _escape_illegal(text: str) -> str:
    return replace_letters(text, _NOT_XML.findall(text))
