"""`stithy block`: what storage can do before a database uses it."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from stithy.cli.talk.options import NoWait
from stithy.cli.talk.render import (
    UNKNOWN,
    format_rate_text,
    format_time_text,
    make_table,
    say,
    show,
)
from stithy.errors import Exit, UserError

if TYPE_CHECKING:
    from stithy.fio.learned import Learned
    from stithy.report.context import Context
    from stithy.study.load import StudyFile

PROFILE = "four-corners"
FIGURES = ("fio.iops", "fio.bytes_per_s", "fio.mean_s", "fio.p99")
HEADER = ("profile", "submitted", "candidate", "IOPS", "MB/s", "mean", "p99")
BYTES_PER_MB = 1e6


def block(
    *targets: str,
    learn: Path | None = None,
    profile: tuple[str, ...] = (PROFILE,),
    rate: tuple[str, ...] = (),
    stop_at: str | None = None,
    size: str | None = None,
    volumes: tuple[str, ...] = (),
    duration: str | None = None,
    ramp_up: str | None = None,
    replay: str | None = None,
    compressible: str | None = None,
    duplicate: str | None = None,
    precondition: str | None = None,
    repeat: int | None = None,
    wipe: bool = False,
    no_wait: NoWait = False,
    print_study: Annotated[bool, Parameter(name="--print")] = False,
    out: Path | None = None,
    json: bool = False,
) -> Exit:
    """Measure storage with fio, by I/O profiles, without a database.

    A target is a directory (with a slash: `./new`), a block device, an emulated drive by the name
    or file of its profile, or the candidates of a study: `study.yaml` or `study.yaml:NAME`. Several
    targets are compared, in blocks.

    The command makes a study of the scenario `block-io` and runs it as `stithy run` does: the same
    checks, results, verdicts, report and exit codes. `--print` shows that study and how each
    profile submits its requests, and measures nothing. What no option sets has the default of the
    scenario.

    A directory must be missing or empty, or Stithy's own. All of `--size` is written once before
    the first measurement, whatever the profile. A device therefore needs `--wipe`, unless it is
    empty, and its name in /dev/disk/by-id. A device that is mounted or in use is always refused.

    With `--learn` the profile is learned from the trace of an emulated drive (`stithy drive
    trace`), a run that kept one (`trace: true` of a drive), a log of fio (`write_iolog`, version
    3), a file of blktrace or what blkparse prints: sizes, read share, places, flushes, concurrency
    and batches. It is written to the file that `--profile` names. Targets are measured with it at
    the rate of the trace, and both are shown.

    Examples:

        stithy block /data/stithy
        stithy block gp3 io2 --profile sql-80-20 --size "512 MiB"
        stithy block /dev/disk/by-id/nvme-Example_S1234 --wipe --profile sql --profile oracle
        stithy block ours.yaml:san --profile ./mine.toml --duration 60s
        stithy block gp3 --profile oltp-8k --rate 10-120% --stop-at "20 ms"
        stithy block gp3 io2 --profile hcibench-4k-70-30 --volumes 4 --size "128 MiB"
        stithy block gp3 --profile sql --print > gp3.yaml
        stithy block gp3 --profile ./data.trace --size "1 GiB"
        stithy block --learn data.trace --profile ./mine.toml
        stithy block --learn runs/ours --profile ./ours.toml

    Parameters
    ----------
    targets
        What is measured; the others are compared with the first.
    learn
        Learn the profile from this trace, or from the one that this run kept.
    profile
        An I/O profile, one pattern of it (four-corners/random-read-4k), or a file of your own: a
        profile (./mine.toml), a job file of fio (./mine.fio), a parameter file of Vdbench
        (./mine.vdb) or a trace to replay (./mine.trace). Repeatable; docs/reference/io-profiles.md
        lists what is shipped.
    rate
        Rates at which requests arrive: shares of the maximum, which is measured first (10-120%), or
        requests a second. Repeatable; default: as fast as it goes.
    stop_at
        Mean latency beyond which higher rates are left out.
    size
        How much of each volume is used.
    volumes
        Volumes of each target that are used at once: a number of files on it, as virtual disks are,
        or the roles of a candidate (--volumes data --volumes log). Default: 1.
    duration
        Length of each measurement.
    ramp_up
        I/O before each measurement.
    replay
        How traces among the profiles are replayed: at their own times, or as fast as it goes
        (fast).
    compressible
        Share of the written data that compression saves; default: that of the profile.
    duplicate
        Share of the written requests that deduplication saves; default: that of the profile.
    precondition
        What happens to each target before it is measured, such as snia: rounds until the steady
        state of SNIA's rule. docs/reference/study.md lists what there is.
    repeat
        A fixed number of blocks at every profile; default: until the question is decided.
    wipe
        Consent to lose all that the named devices hold.
    print_study
        Print the study, and measure nothing.
    out
        Directory for the results, missing or empty; default: runs/block-TIME.
    json
        Print one JSON document at the end: results, report, findings.
    """
    from stithy.cli.talk.shortcut import make_shortcut, read_candidates

    learned = None if learn is None else _learn_profile(learn, profile)
    if learned is not None and not targets:
        return Exit.OK
    candidates = read_candidates(targets, wipe=wipe)
    count = int(volumes[0]) if len(volumes) == 1 and volumes[0].isdecimal() else None
    keys = {
        "profiles": profile,
        "rate": tuple(map(_read_rate, rate)) or (learned and (round(learned.rate_per_s) or 1,)),
        "stop_at": stop_at,
        "size": size,
        "volumes": volumes or None if count is None else count,
        "ramp_up": ramp_up,
        "duration": duration,
        "replay": replay,
        "compressible": compressible,
        "duplicate": duplicate,
        "precondition": precondition,
        "repeat": repeat,
    }
    question = (
        "What can this storage do?" if len(candidates) == 1 else "Which storage serves I/O best?"
    )
    made = make_shortcut("block", question, candidates, "block-io", keys)
    file = made.file()
    if print_study and json:
        remedy = "leave out one of them"
        raise UserError("a study is printed as YAML", where="--print --json", remedy=remedy)
    if print_study:
        from stithy.run.equip import describe_profile_tables

        comments = (
            f"# {line}"
            for profile_table in describe_profile_tables(file.study)
            for line in profile_table.split("\n")
        )
        show("\n".join([*comments, made.text.rstrip()]))
        return Exit.OK

    return _measure(file, out, learned, waits=not no_wait, json=json)


def _measure(
    file: "StudyFile", out: Path | None, learned: "Learned | None", *, waits: bool, json: bool
) -> Exit:
    """Run the study, and show first what was measured, or what was learned beside it."""
    from stithy.cli.talk.conclude import conclude
    from stithy.cli.talk.display import display
    from stithy.cli.talk.shortcut import are_side_by_side
    from stithy.report.sections.certainty import describe_status
    from stithy.run.deciders import make_deciders
    from stithy.run.equip import Tools
    from stithy.run.executor import execute
    from stithy.run.session import Stop
    from stithy.run.start import start_run

    stop = Stop(say)
    with stop.install_signals():
        with display() as shown:
            context = start_run(file, out, stop, shown, Tools(waits=waits))
            outcome = execute(context, make_deciders(describe_status))
        with stop.shield():
            first = partial(are_side_by_side, learned) if learned else show_measured
            return conclude(outcome, None, json=json, first=first)


def _learn_profile(trace: Path, profile: tuple[str, ...]) -> "Learned":
    from stithy.cli.talk.shortcut import find_learned, keep
    from stithy.units import format_size

    if len(profile) != 1 or not profile[0].endswith(".toml"):
        remedy = "name one new file: --profile ./mine.toml"
        raise UserError("what is learned has no file", where="--learn", remedy=remedy)
    learned = find_learned(trace)
    keep(learned, Path(profile[0]))
    span = format_size(learned.span_bytes)
    say(f"{profile[0]}: {learned.rate_per_s:,.0f} reads and writes per second over {span}")
    if learned.caution is not None:
        say(learned.caution)
    return learned


def _read_rate(text: str) -> float | str:
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        return text


def show_measured(context: "Context") -> str:
    """What each candidate did at each profile, by its valid windows."""
    from stithy.metrics import Quantity
    from stithy.report.words.loads import list_submissions

    evidence, submitted, rows = context.evidence, list_submissions(context.manifest), []
    for point in evidence.points:
        for name in evidence.candidates:
            iops, moved, mean_s, p99_s = (
                evidence.level_of(name, point, Quantity(figure)) for figure in FIGURES
            )
            rows.append((
                " at ".join(map(str, point.values.values())),
                submitted.get(str(point.values["profile"]), UNKNOWN), name, format_rate_text(iops),
                format_rate_text(None if moved is None else moved / BYTES_PER_MB),
                format_time_text(mean_s), format_time_text(p99_s),
            ))  # fmt: skip
    return make_table(HEADER, rows, "<<<>>>>")


COMMAND = block
