"""What commands do with thresholds: tell them, write JUnit XML, choose the exit code."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.errors import InfrastructureError, InvalidMeasurement, UserError
from stithy.exits import Exit

if TYPE_CHECKING:
    from stithy.analysis.answers.thresholds import Judgement
    from stithy.report.context import Context


UNKNOWN = (
    "Whether thresholds were met is not known: the manifest, which holds them, cannot be read."
)


@dataclass(frozen=True)
class Judged:
    """The thresholds of a run: as lines for people, as values for programs, as an exit code.

    `answered`: whether the measurement supports what it was made for.
    """

    lines: tuple[str, ...]
    values: list[dict[str, object]]
    exit: Exit
    answered: bool


def require_writable(path: Path | None, option: str = "--junit") -> None:
    """Refuse a place for a file before anything is done. Raises UserError."""
    if path is None:
        return
    if path.exists() and not path.is_file():
        # A device or a pipe would be replaced, not written to.
        problem, remedy = "this is no file", "name a file"
    elif not path.absolute().parent.is_dir():
        problem, remedy = "there is no directory for this file", "make it, or name another place"
    else:
        return
    raise UserError(problem, where=f"{option} {path}", remedy=remedy)


def judge(context: "Context", junit: Path | None) -> Judged:
    """Judge the thresholds of a run, and write them as JUnit XML where that is wanted.

    Raises InvalidMeasurement where JUnit XML is wanted of a run without a readable manifest, which
    holds the thresholds; InfrastructureError where it cannot be written.
    """
    from stithy.cli.running.looking import answered
    from stithy.report.junit import junit_xml
    from stithy.report.parts.thresholds import judged, lines

    judgements = judged(context)
    if context.manifest is None:
        if junit is not None:
            problem = "its manifest cannot be read, and with it no threshold"
            where = str(context.run.directory.root)
            raise InvalidMeasurement(problem, where=where, remedy="run the study again")
        # Nobody may take it for a run whose thresholds were all met.
        return Judged((UNKNOWN,), [], Exit.INVALID, answered(context))
    if junit is not None:
        _write(junit, junit_xml(context, judgements))
    code = exit_of(judgements)
    return Judged(lines(judgements), _values(judgements), code, answered(context))


def exit_of(judgements: "Sequence[Judgement]") -> Exit:
    """5 where any could not be judged, else 99 where any was not met, else 0.

    99 then means that everything was measured as it should be, and something was too slow.
    """
    from stithy.analysis.answers.thresholds import Outcome

    outcomes = {each.outcome for each in judgements}
    if Outcome.NOT_JUDGED in outcomes:
        return Exit.INVALID
    return Exit.THRESHOLD if Outcome.NOT_MET in outcomes else Exit.OK


def _values(judgements: "Sequence[Judgement]") -> list[dict[str, object]]:
    return [
        {
            "threshold": str(each.threshold),
            "outcome": each.outcome.value,
            "left": each.left,
            "right": each.right,
            "unit": each.threshold.unit,
            "because": each.because,
        }
        for each in judgements
    ]


def _write(path: Path, content: bytes) -> None:
    from stithy.results.files import write_durably

    try:
        write_durably(path, content)
    except InfrastructureError as error:
        remedy = "make room there, or name another file: `stithy report --junit` writes it again"
        raise InfrastructureError(error.problem, where=error.where, remedy=remedy) from error
