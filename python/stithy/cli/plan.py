"""`stithy plan`: what a study would do, how long it takes and how much space it needs."""

from pathlib import Path
from secrets import token_hex
from typing import Annotated

from cyclopts import Parameter

from stithy.cli.talk.render import show, show_json
from stithy.exits import Exit


def plan(
    study: Path,
    /,
    *,
    out: Path | None = None,
    null: Annotated[bool, Parameter(negative=())] = False,
    steps: Annotated[bool, Parameter(negative=())] = False,
    json: bool = False,
) -> Exit:
    """Print what a study would do, what it needs, and whether this machine can run it.

    Makes every check that `stithy run` makes before it starts, and reports all problems at once;
    the exit code is then the one that `stithy run` would end with. Nothing is started, made or
    measured; the machine is watched for a second. Likely times are those of earlier runs on this
    machine, and before the first of them estimates for a small one with an ordinary solid-state
    drive. Space, memory and times at most are bounds.

    How likely each answer is comes from a quick simulation, with the noise that earlier runs on
    this machine had by the same metric, or an assumed one: a study should be able to end either
    way.

    Steps marked "if undecided" are left out as soon as the primary question is decided: the totals
    show the time without and with them. A block with an invalid window is measured once more; the
    time for that is shown beside the totals.

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
        The directory that `stithy run --out` would get; it is checked, and not made.
    null
        The plan of `stithy run --null`: the first candidate against its like.
    steps
        Print every step in a line of its own; default: a line for each level.
    json
        Print one JSON document instead of tables.
    """
    from stithy.cli.talk.failures import show as show_failure
    from stithy.cli.talk.planned import as_json, as_text, checks, known
    from stithy.cli.talk.prospects import outlook
    from stithy.metrics import parse_quantity
    from stithy.plan.expand import expand
    from stithy.plan.null import as_null
    from stithy.plan.search import trial
    from stithy.results.layout import RunDirectory
    from stithy.run.before import preflight as before
    from stithy.run.before.earlier import earlier_factors, earlier_noise
    from stithy.run.before.equip import Tools
    from stithy.run.before.forecast import Forecast, mended, mended_steps
    from stithy.run.start import default_directory
    from stithy.study.load import read_study

    read, tools = read_study(study), Tools()
    file = as_null(read) if null else read
    forecast = Forecast(earlier_factors())
    planned = mended(expand(file.study, null=null), forecast)
    tried = mended_steps(trial(file.study, planned), forecast)
    asked = planned.question
    noise = earlier_noise(str(parse_quantity(asked.metric))) if asked else ()
    expected = outlook(asked, len(file.study.candidates), noise, planned.seed)
    directory = RunDirectory(out or default_directory(study, tools.clock.now_s()))
    checked = before.preflight(file, directory, token_hex(6), tools, clean=False)
    if json:
        show_json(as_json(file.study, planned, tried, expected))
    else:
        page = as_text(file.study, planned, tried, expected, all_steps=steps)
        show(f"{page}\n{known(planned, forecast)}\n\n{checks(checked)}")
    if (refusal := checked.problems.refusal(str(study))) is None:
        return Exit.OK
    return Exit(show_failure(refusal, debug=False))


COMMAND = plan
