"""A study made of a command's words; a profile learned from a trace, and held against it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stithy.cli.talk.options import require_new
from stithy.cli.talk.render import format_rate_text, format_time_text, make_table
from stithy.errors import Refused, UserError, convert_machine_failures, give_reason
from stithy.fio import library
from stithy.fio.foreign.lines import make_profile_name
from stithy.fio.learned import OPERATIONS, Learned, learn
from stithy.fio.traces import read_requests, read_trace
from stithy.metrics import Quantity
from stithy.names import find_free, suggest_instead
from stithy.results.files import read_run
from stithy.results.tables import Row
from stithy.study.document import quoted, read_document
from stithy.study.load import StudyFile, parse_study
from stithy.study.load import read_study as read_other
from stithy.study.model import name_candidate
from stithy.study.problems import StudyError

if TYPE_CHECKING:
    from stithy.report.context import Context

STUDIES = (".yaml", ".yml")
PROFILES = ".toml"
DEVICES = Path("/dev")
MEMORY = Path("/dev/shm")
Keys = Mapping[str, Any]
_ONE = {"profiles": "profile"}
"""Lists, by the option that gives one entry."""


@dataclass(frozen=True)
class Shortcut:
    """The study: its text, and the option of each of its lines, from 1."""

    name: str
    text: str
    options: Mapping[int, str]

    def file(self) -> StudyFile:
        """The study as if it had been read. Raises UserError or Refused, by option."""
        path = Path(f"{self.name}.yaml")
        content = self.text.encode()
        try:
            return StudyFile(path, content, parse_study(path.name, content))
        except StudyError as error:
            found = []
            for problem in error.problems:
                line = int(problem.where.rsplit(":", 2)[1])
                option = self.options.get(line, f"stithy {self.name}")
                found.append(UserError(problem.problem, where=option, remedy=problem.remedy))
            if len(found) == 1:
                raise found[0] from error
            raise Refused(tuple(found), where=f"stithy {self.name}") from error


def make_shortcut(
    name: str, question: str, candidates: Mapping[str, Keys], scenario: str, keys: Keys
) -> Shortcut:
    """The study of a command; a key of the scenario is an option unless it is None."""
    rows = [(f"study: {_write_flow(question)}", ""), ("candidates:", "")]
    rows += [(f"  {name}: {_write_flow(spec)}", name) for name, spec in candidates.items()]
    rows += [("scenario:", ""), (f"  {scenario}:", "")]
    rows += [
        (f"    {key}: {_write_flow(value)}", f"--{_ONE.get(key, key).replace('_', '-')}")
        for key, value in keys.items()
        if value is not None
    ]
    options = {number: option for number, (_, option) in enumerate(rows, 1) if option}
    return Shortcut(name, "".join(f"{line}\n" for line, _ in rows), options)


def _write_flow(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_write_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_write_flow(inner) for inner in value) + "]"
    return quoted(value) if isinstance(value, str) else json.dumps(value, default=str)


def read_candidates(targets: Sequence[str], *, wipe: bool) -> dict[str, Keys]:
    """The candidates that targets stand for, each with a name. Raises UserError.

    `wipe`: consent for the devices among them.
    """
    if not targets:
        remedy = "name a directory, a device, a drive profile, or a study's candidate"
        raise UserError("nothing is named to be measured", where="TARGETS", remedy=remedy)
    found: dict[str, Keys] = {}
    for target in targets:
        for name, keys in _read_word(target, wipe=wipe):
            found[find_free(name, found)] = keys
    if wipe and not any("device" in candidate for candidate in found.values()):
        problem, remedy = "no target is a device", "leave it out: nothing else is overwritten"
        raise UserError(problem, where="--wipe", remedy=remedy)
    return found


def _read_word(target: str, *, wipe: bool) -> Iterator[tuple[str, Keys]]:
    study, _, candidate = target.partition(":")
    if study.lower().endswith(STUDIES):
        yield from _read_from_study(Path(study), candidate)
    elif Path(target).is_relative_to(DEVICES) and not Path(target).is_relative_to(MEMORY):
        # As it is: no file system, and consent only from the person.
        keys = {"device": target, "filesystem": "none", **({"wipe": True} if wipe else {})}
        yield name_candidate(Path(target).name), keys
    elif "/" in target and not target.endswith(PROFILES) and not isfile(target):
        path = Path(target).absolute()
        yield name_candidate(path.name), {"path": str(path)}
    else:
        yield name_candidate(Path(target).name.removesuffix(PROFILES)), {"drive": target}


def _read_from_study(path: Path, wanted: str) -> Iterator[tuple[str, Keys]]:
    file = read_other(path)
    known = list(file.study.candidates)
    if wanted and wanted not in known:
        remedy = suggest_instead(wanted, known)
        raise UserError(f"it has no candidate {wanted!r}", where=str(path), remedy=remedy)
    written: Any = read_document(path.name, file.content.decode("utf-8-sig")).data
    for name in [wanted] if wanted else known:
        yield name, written["candidates"][name]


TRACES = "*.trace"
HEADER = ("operation", "by", "per second", "mean")


def find_learned(trace: Path) -> Learned:
    """What a trace of any kind teaches, or the one of a run.

    Of a run's trace only what was measured counts. Raises UserError.
    """
    try:
        if trace.is_dir():
            return _find_learned_in_run(trace)
        file, device = library.split_file(str(trace))
        source = trace if file is None else file
        return learn(read_requests(source, device), f"{source.name} {device}".strip())
    except OSError as error:
        problem = f"the trace cannot be read: {give_reason(error)}"
        remedy = "name a file that exists and is readable"
        raise UserError(problem, where=f"--learn {trace}", remedy=remedy) from error


def _find_learned_in_run(run: Path) -> Learned:
    """What the traces of a run teach, from the begin to the end of a measurement.

    They must be of one drive at one point: then any of them will do, and one that was measured
    again counts before the first.
    """
    results = read_run(run)
    found: dict[tuple[str, str, str], tuple[Path, Row]] = {}
    whole = results.window.filter("complete").sort(["attempt", "block"], descending=[False, True])
    for row in whole.iter_rows(named=True):
        for path in results.directory.window(row["window_id"]).root.glob(TRACES):
            found[row["candidate"], row["point"], path.name] = (path, row)
    if len(found) != 1:
        raise _make_not_one(run, sorted(path for path, _ in found.values()))
    [(path, row)] = found.values()
    from_s, to_s = row["measure_from_s"], row["measure_to_s"]
    zero_s = read_trace(path).started_at_s
    within = (
        read_request
        for read_request in read_requests(path)
        if from_s <= zero_s + read_request.arrived_s <= to_s
    )
    return learn(within, str(run))


def _make_not_one(run: Path, found: Sequence[Path]) -> UserError:
    if found:
        problem = f"it has traces of {len(found)} drives or points"
        remedy = f"name one of them, such as --learn {found[0]}"
    else:
        problem = "it kept no trace of a whole window"
        remedy = "give an emulated drive of its study `trace: true`, and run it again"
    return UserError(problem, where=f"--learn {run}", remedy=remedy)


def keep(learned: Learned, file: Path) -> None:
    """Write the profile to a new file. Raises UserError where there is one, or can be none."""
    require_new(file)
    library.parse(learned.text, make_profile_name(file.stem), str(file))
    try:
        with convert_machine_failures(str(file)), file.open("x", encoding="utf-8") as opened:
            opened.write(learned.text)
    except OSError as error:
        problem = f"the profile cannot be written: {give_reason(error)}"
        raise UserError(problem, where=str(file), remedy="name another file") from error


def are_side_by_side(learned: Learned, context: "Context") -> str:
    """What was traced, and what each candidate did with the profile at the same rate."""
    rows = [
        (operation, "trace", format_rate_text(seen.per_s), format_time_text(seen.mean_s))
        for operation, seen in learned.served.items()
        if seen.count
    ]
    evidence = context.evidence
    for point in evidence.points:
        if point.values.get("rate") == "max":
            continue
        for name in evidence.candidates:
            for operation in OPERATIONS:
                iops, mean_s = (
                    evidence.level_of(name, point, Quantity(metric, operation))
                    for metric in ("fio.iops", "fio.mean_s")
                )
                if iops is not None:
                    rows.append((operation, name, format_rate_text(iops), format_time_text(mean_s)))
    return make_table(HEADER, sorted(rows, key=lambda row: OPERATIONS.index(row[0])), "<<>>")
