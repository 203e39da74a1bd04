"""`stithy new`: a study for this machine, to be looked at and run."""

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from stithy.cli.talk.options import require_plugin
from stithy.cli.talk.render import say, show, show_json
from stithy.errors import PreconditionError, UserError, convert_machine_failures, give_reason

if TYPE_CHECKING:
    from stithy.run.draft import Drafted

STANDARD_OUTPUT = "-"


def write_new(
    file: Annotated[str, Parameter(allow_leading_hyphen=True)] = "study.yaml",
    /,
    *,
    path: tuple[Path, ...] = (),
    drive: tuple[str, ...] = (),
    engine: str | None = None,
    workload: str | None = None,
    scenario: str | None = None,
    size: str | None = None,
    short: bool = False,
    json: bool = False,
) -> None:
    """Write a study for this machine, with every key explained, ready to run.

    The candidates are the file systems with enough free space. If there is only one, an emulated
    drive or memory is the second candidate. Comments in the file show what else this machine can
    compare. The engine is one that is installed. The database takes at most half of the free memory
    and space. A scenario's own keys have the values of their examples where they need one.

    The command makes every check that `stithy run` makes before it starts. It does not overwrite an
    existing file, and creates nothing else.

    Examples:

        stithy new
        stithy new quick.yaml --short
        stithy new disks.yaml --path /data/stithy --path /mnt/new/stithy
        stithy new - --drive generic-sata --drive p4500-2000 > drives.yaml
        stithy new backups.yaml --scenario backup --short

    Parameters
    ----------
    file
        The study file to write; `-` is standard output.
    path
        A directory as a candidate, missing or empty. Repeatable.
    drive
        A drive profile as a candidate, by name or file. Repeatable. With `path` or `drive` the
        study has only these candidates.
    engine
        The database engine; default: one that is installed here.
    workload
        What the users do; default: the first that `docs/reference/study.md` lists.
    scenario
        What the study does; default: virtual users at several levels (`load`). The study has a
        database, a workload and users only if its scenario needs them.
    size
        Size of the database, as the study's `workload` section counts it; default: what fits, at
        most about 2 GiB. A number, or several as KEY=NUMBER, with commas between them.
    short
        A small database and short windows: some minutes instead of an hour.
    json
        Print one JSON document about the file; not with `-`, which prints the study itself.
    """
    say("looking at this machine")
    from stithy.hosts.host import LocalHost
    from stithy.run.draft import Wishes, describe_cautions, draft
    from stithy.study.scenario import Scenario
    from stithy.study.sections import USUAL

    if file != STANDARD_OUTPUT:
        _need_free(Path(file))
    elif json:
        remedy = "leave out --json, or name a file"
        raise UserError("a study is printed as YAML", where="- --json", remedy=remedy)
    from stithy.engines.engine import Engine
    from stithy.registry import plugins
    from stithy.workloads.workload import Workload

    if file in plugins(Scenario):
        remedy = f"write stithy new {file}.yaml --scenario {file}"
        raise UserError("a scenario instead of a study file", where=file, remedy=remedy)
    require_plugin(Engine, engine, f"{engine!r} is not a database engine", "--engine")
    require_plugin(Workload, workload, f"{workload!r} is not a workload", "--workload")
    require_plugin(Scenario, scenario, f"{scenario!r} is not a scenario", "--scenario")
    wishes = Wishes(path, drive, engine, size, short, workload, scenario or USUAL)
    host = LocalHost()
    drafted = draft(host, wishes, choose_margin=_choose_margin)
    if file == STANDARD_OUTPUT:
        show(drafted.text.rstrip("\n"))
        return
    _write(Path(file), drafted.text)
    cautions = describe_cautions(host, drafted.study)
    if json:
        show_json({**_make_json(file, drafted), "cautions": list(cautions)})
    else:
        say("\n".join((_describe_draft(file, drafted), *(f"warning: {text}" for text in cautions))))


COMMAND = write_new


def _choose_margin(drafted: "Drafted") -> float:
    from stithy.cli.talk.prospects import make_outlook
    from stithy.metrics import parse_quantity
    from stithy.run.forecast import read_noise
    from stithy.study.primary import MARGIN_PERCENT

    asked, among = drafted.plan.question, len(drafted.study.candidates)
    noise = read_noise(str(parse_quantity(asked.metric))) if asked else ()
    expected = make_outlook(asked, among, noise, drafted.plan.seed)
    needed = expected.margin_needed if expected else None
    return MARGIN_PERCENT if needed is None else round(needed * 100, 1)


def _need_free(file: Path) -> None:
    if os.path.lexists(file):
        raise _make_taken(file)
    if not os.path.isdir(file.parent):
        raise UserError(
            f"this user sees no directory {file.parent}",
            where=str(file),
            remedy="make it, or name another",
        )


def _write(file: Path, text: str) -> None:
    """All of it or nothing: a half-written study would be taken for a whole one."""
    from stithy.study.load import shorten

    try:
        with convert_machine_failures(str(file)), file.open("x", encoding="utf-8") as opened:
            try:
                opened.write(text)
                opened.flush()
            except OSError:
                file.unlink(missing_ok=True)
                raise
    except FileExistsError as error:
        raise _make_taken(file) from error
    except PermissionError as error:
        raise PreconditionError(
            f"this user may not write to {file.parent.absolute()}",
            where=str(file),
            remedy="name a file elsewhere",
        ) from error
    except OSError as error:
        raise UserError(
            f"this cannot be the name of a file: {give_reason(error)}",
            where=shorten(str(file)),
            remedy="name another",
        ) from error


def _make_taken(file: Path) -> UserError:
    return UserError(
        "the file exists already, and is not overwritten",
        where=str(file),
        remedy="name another file, or remove it",
    )


def _describe_draft(file: str, drafted: "Drafted") -> str:
    from stithy.cli.talk.display import format_expected_time
    from stithy.plan.cost import list_certain, sum_s
    from stithy.units import format_duration

    names, steps = ", ".join(drafted.study.candidates), drafted.plan.steps
    database = drafted.study.given_database
    engine = f", with {database.engine}" if database else ""
    likely_s, at_most_s = sum_s(steps)
    least_s, _ = sum_s(list_certain(steps))
    takes = format_expected_time(least_s, likely_s if least_s < likely_s else None)
    return (
        f"{file}: compares {names}{engine}; takes {takes}, at most "
        f"{format_duration(round(at_most_s))}\nread the file, then: stithy run {shlex.quote(file)}"
    )


def _make_json(file: str, drafted: "Drafted") -> dict[str, object]:
    from stithy.activity import get_level_factor
    from stithy.plan.cost import list_times

    study = drafted.study
    database, workload, load = study.given_database, study.given_workload, study.given_load
    return {
        "schema_version": 1,
        "file": file,
        "candidates": list(study.candidates),
        "scenario": study.scenario.name,
        "engine": database and database.engine,
        "workload": workload and workload.name,
        "size": workload and dict(workload.size),
        get_level_factor().name: load and list(load.levels),
        **list_times(drafted.plan.steps),
    }
