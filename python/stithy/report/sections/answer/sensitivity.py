"""What becomes of the verdict when every assumed number of the drives is off, corner by corner."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stithy.analysis.comparisons import ComparedPair
from stithy.analysis.findings import answer_question
from stithy.analysis.verdict import Call
from stithy.plan.sensitivity import SHARE
from stithy.report.context import Context
from stithy.report.words.loads import read_numbers
from stithy.report.words.wording import (
    CONSERVATIVE,
    T_INTERVAL,
    format_exactly,
    format_factor,
    format_plural,
    name_briefly,
)
from stithy.units import format_share

UNKNOWN = "this measurement was not completed"


@dataclass(frozen=True)
class Corner:
    """The question with every assumed number against a candidate; `compared` None: not measured."""

    against: str
    compared: ComparedPair | None
    context: Context | None

    @property
    def winner(self) -> str | None:
        """Which candidate would be better; None where neither is."""
        return _find_winner(self.compared)


def list_wanted(context: Context) -> tuple[tuple[str, str], ...]:
    """The corners that could overturn the answer: each a candidate, and the other of the pair.

    None where there is no answer. Without a better candidate that is both of them.
    """
    answered = answer_question(context.evidence)
    if answered is None or answered.effect.ratio is None:
        return ()
    pair = ((answered.a, answered.b), (answered.b, answered.a))
    better = _find_winner(answered)
    return tuple(each for each in pair if better in (None, each[0]))


def describe_corners(context: Context, *, holds: bool) -> Iterator[str]:
    """The corners in which the verdict `holds`, or else is another, or not known."""
    answered = answer_question(context.evidence)
    for corner in _list_runs(context):
        if _is_same(corner, answered) is holds:
            yield _describe_corner(corner, answered)


def list_values(context: Context) -> list[dict[str, Any]]:
    """The corners for programs, with the numbers that were varied."""
    answered = answer_question(context.evidence)
    return [
        {
            "against": corner.against,
            "share": SHARE,
            "holds": _is_same(corner, answered) if corner.compared else None,
            "call": corner.compared.verdict.call.value if corner.compared else None,
            "better": corner.winner,
            **_list_effect(corner.compared),
            "numbers": list(_list_changes(context, corner.context)),
        }
        for corner in _list_runs(context)
    ]


def _list_runs(context: Context) -> Iterator[Corner]:
    if not context.run.directory.sensitivity.is_dir():
        return
    names = dict.fromkeys([*context.corners, *(name for name, _ in list_wanted(context))])
    for against in names:
        run = context.corners.get(against)
        compared = answer_question(run.evidence) if run else None
        has_ratio = compared is not None and compared.effect.ratio is not None
        yield Corner(against, compared if has_ratio else None, run)


def _find_winner(compared: ComparedPair | None) -> str | None:
    if compared is None or compared.verdict.call not in (Call.BETTER, Call.WORSE):
        return None
    return compared.b if compared.verdict.call is Call.BETTER else compared.a


def _is_same(corner: Corner, answered: ComparedPair | None) -> bool:
    known = corner.compared
    return (
        known is not None and answered is not None and known.verdict.call is answered.verdict.call
    )


def _describe_corner(corner: Corner, answered: ComparedPair | None) -> str:
    off = f"every assumed number of the drives {format_share(SHARE)} against {corner.against}"
    if corner.compared is None:
        return f"Whether the verdict holds with {off} is not known: {UNKNOWN}."
    found = _describe_verdict(corner, corner.compared, holds=_is_same(corner, answered))
    return f"With {off}, {found}: {_write_values(corner.compared)}."


def _describe_verdict(corner: Corner, compared: ComparedPair, *, holds: bool) -> str:
    still, margin = " still" if holds else "", format_exactly(compared.verdict.margin_share)
    be, would = ("are", "") if holds else ("be", "would ")
    match compared.verdict.call:
        case Call.BETTER | Call.WORSE:
            return f"{corner.winner} {'is still' if holds else 'would be'} better"
        case Call.EQUIVALENT:
            return f"the two {would}{be}{still} equivalent within {margin}"
        case Call.NEGLIGIBLE:
            return f"the two{still} {would}differ by less than {margin}"
        case Call.UNDECIDED:
            return f"the verdict {'is still' if holds else 'would be'} undecided"
        case Call.HIGHER | Call.LOWER as call:
            more = "more" if call is Call.HIGHER else "less"
            return f"{compared.b} {'still has' if holds else 'would have'} {more} than {compared.a}"


def _write_values(compared: ComparedPair) -> str:
    effect = compared.effect
    assert effect.ratio is not None  # else there is no corner to tell of
    whose = f"{name_briefly(compared.metric)}, {compared.b} to {compared.a}"
    if effect.low is None or effect.high is None:
        return (
            f"{whose}, ratio {format_factor(effect.ratio)} ({format_plural(effect.pairs, 'block')})"
        )
    kind = f"plain {T_INTERVAL}" if effect.plain else CONSERVATIVE
    return (
        f"{whose}, ratio {format_factor(effect.ratio)} ({format_factor(effect.low)} to "
        f"{format_factor(effect.high)}; {kind} interval, {format_plural(effect.pairs, 'block')})"
    )


def _list_effect(compared: ComparedPair | None) -> dict[str, Any]:
    if compared is None:
        names = ("a", "b", "metric", "point", "ratio", "low", "high", "blocks")
        return dict.fromkeys(names) | {"missing_because": UNKNOWN}
    effect = compared.effect
    return {
        "a": compared.a, "b": compared.b, "metric": str(compared.metric),
        "point": str(compared.point), "ratio": effect.ratio, "low": effect.low,
        "high": effect.high, "blocks": effect.pairs, "missing_because": None,
    }  # fmt: skip


def _list_changes(main: Context, corner: Context | None) -> Iterator[dict[str, Any]]:
    varied = {
        (candidate.name, drive.role): drive.profile
        for candidate in (corner.manifest.candidates if corner and corner.manifest else ())
        for drive in candidate.drives
    }
    for candidate in main.manifest.candidates if main.manifest else ():
        for drive in candidate.drives:
            if (text := varied.get((candidate.name, drive.role))) is None:
                continue
            was, now = read_numbers(drive.profile), read_numbers(text)
            for key in (key for key in was if was[key] != now.get(key)):
                yield {
                    "candidate": candidate.name, "role": drive.role, "number": key,
                    "was": was[key], "now": now.get(key),
                }  # fmt: skip
