"""`stithy plan`: what a study would do, how long it takes and how much space it needs."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from stithy.cli.talk.render import show, show_json


def plan(
    study: Path,
    /,
    *,
    null: Annotated[bool, Parameter(negative=())] = False,
    json: bool = False,
) -> None:
    """Print the steps of a study, with the time and space that they need.

    Nothing is started, made or measured. Likely times are those of earlier runs on this machine,
    and before the first of them estimates for a small one with an ordinary solid-state drive.
    Space, memory and times at most are bounds.

    Steps marked "if undecided" are left out as soon as the primary question is decided: the totals
    tell the time without and with them. What a block costs that is measured once more, because a
    window of it was invalid, is told beside the totals.

    Examples:

    ```
    stithy plan studies/demo.yaml
    stithy plan studies/demo.yaml --json | jq .totals
    ```

    Parameters
    ----------
    study
        The study file.
    null
        The plan of `stithy run --null`: the first candidate against itself.
    json
        Print one JSON document instead of tables.
    """
    from stithy.cli.talk.planned import as_json, as_text, known
    from stithy.plan.expand import expand
    from stithy.plan.search import trial
    from stithy.run.before.earlier import earlier_factors
    from stithy.run.before.forecast import Forecast, mended, mended_steps
    from stithy.study.load import read_study

    read = read_study(study).study
    forecast = Forecast(earlier_factors())
    planned = mended(expand(read, null=null), forecast)
    tried = mended_steps(trial(read, planned), forecast)
    if json:
        show_json(as_json(read, planned, tried))
    else:
        show(f"{as_text(read, planned, tried)}\n{known(planned, forecast)}")


COMMAND = plan
