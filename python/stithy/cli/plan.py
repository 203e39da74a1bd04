"""`stithy plan`: what a study would do, how long it takes and how much space it needs."""

from pathlib import Path
from secrets import token_hex

from stithy.cli.talk.options import Scheduler, Tls
from stithy.cli.talk.render import say, show, show_json
from stithy.errors import Exit


def plan(
    study: Path,
    /,
    *,
    out: Path | None = None,
    null: bool = False,
    sensitivity: bool = False,
    steps: bool = False,
    scheduler: Scheduler = None,
    tls: Tls = None,
    json: bool = False,
) -> Exit:
    """Print what a study does, what it needs, and whether this machine can run it.

    Makes every check that `stithy run` makes before it starts, and reports all problems at once.
    The exit code is the one that `stithy run` would end with. Nothing is started, created or
    changed. The command only measures the load of the machine for one second.

    Expected times come from earlier runs on this machine. Before the first run they are estimates
    for a small machine with an ordinary SSD. Space, memory and maximum times are upper bounds.

    The command also simulates how likely each answer is. It takes the noise from earlier runs on
    this machine with the same metric. Without such runs it assumes 2 %. A good plan can end with
    any of the answers.

    Steps marked "if undecided" are left out once the primary question is decided. The totals show
    the time without and with these steps. A block with an invalid window is measured a second time;
    the time for that is shown beside the totals.

    Examples:

    ```
    stithy plan studies/demo.yaml
    stithy plan studies/demo.yaml --steps
    stithy plan studies/demo.yaml --json | jq .totals
    ```

    Parameters
    ----------
    study
        The study file.
    out
        Check this directory, as for `stithy run --out`. It is not created.
    null
        Plan `stithy run --null`: the first candidate against an identical copy of it.
    sensitivity
        Add the time of `stithy run --sensitivity`, and make its checks.
    steps
        Print one line per step; default: one line per level.
    json
        Print one JSON document instead of tables.
    """
    from stithy.study.load import read_study

    read = read_study(study)
    say("looking at this machine")
    from stithy.cli.talk.planned import describe_checks, describe_known, make_json, make_text
    from stithy.cli.talk.prospects import make_outlook
    from stithy.cli.talk.render import show_error as show_failure
    from stithy.metrics import parse_quantity
    from stithy.plan.additional import plan_trial
    from stithy.plan.expand import expand, expand_file, make_null_file
    from stithy.plan.sensitivity import choose_representative
    from stithy.results.layout import RunDirectory
    from stithy.run import preflight as before
    from stithy.run.agents import make_finder
    from stithy.run.equip import Tools
    from stithy.run.forecast import Forecast, correct_plan, correct_steps, read_factors, read_noise
    from stithy.run.start import choose_directory

    tools = Tools(agents=make_finder(scheduler, tls))
    file = make_null_file(read) if null else read
    forecast = Forecast(read_factors())
    planned = correct_plan(expand_file(file), forecast)
    tried = correct_steps(plan_trial(file.study, planned), forecast)
    asked = planned.question
    noise = read_noise(str(parse_quantity(asked.metric))) if asked else ()
    expected = make_outlook(asked, len(file.study.candidates), noise, planned.seed)
    directory = RunDirectory(out or choose_directory(study, tools.clock.now_s()))
    checked = before.check_machine(file, directory, token_hex(6), tools, clean=False)
    corner = None
    if sensitivity:
        known_before = len(checked.problems.found)
        checked.problems.attempt(lambda: before.check_sensitivity(file))
        if asked is not None and len(checked.problems.found) == known_before:
            corner = correct_plan(expand(choose_representative(file, asked)), forecast)
    if json:
        show_json(make_json(file.study, planned, tried, expected, corner))
    else:
        page = make_text(file.study, planned, tried, expected, corner, all_steps=steps)
        show(f"{page}\n{describe_known(planned, forecast)}\n\n{describe_checks(checked)}")
    if (refusal := checked.problems.refusal(str(study))) is None:
        return Exit.OK
    return Exit(show_failure(refusal, debug=False))


COMMAND = plan
