"""`stithy hammer check`: the consistency conditions of a database that is there."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from stithy.cli.hammer import options
from stithy.cli.hammer.options import Named, PasswordEnv, Size, Url
from stithy.cli.talk.options import Json
from stithy.cli.talk.render import format_time_text, make_table, show, show_json
from stithy.errors import Exit

if TYPE_CHECKING:
    from stithy.wire.messages import Condition


def check(
    url: Url,
    *,
    password_env: PasswordEnv = None,
    workload: Named = None,
    size: Size = None,
    quick: bool = False,
    after_load: bool = False,
    json: Json = False,
) -> Exit:
    """Verify the consistency conditions of the workload. Changes nothing.

    The exit code is 5 if a condition does not hold.

    Example:

    ```
    stithy hammer check {url}
    ```

    Parameters
    ----------
    quick
        Verify only the conditions that take little time: 1 to 4 of order-entry.
    after_load
        Verify the condition that holds only as long as nothing has run since loading, too.
    """
    from stithy.study.sections import get_workload
    from stithy.workloads.workload import Driving

    database = options.open_database(url, password_env)
    section = options.find_loaded(database, workload, size)
    if get_workload(section.name).conditions is None:
        raise options.refuse_unable(section.name, "has no consistency conditions")
    choice = section.choice(Driving())
    said = {"condition": lambda of: f"condition {of.number}: {'holds' if of.holds else 'BROKEN'}"}
    with options.watch_job(said) as watch:
        checked = options.make_hammer(database).check(
            choice, quick=quick, after_load=after_load, watch=watch
        )
    if json:
        conditions = [condition.model_dump(mode="json") for condition in checked.conditions]
        show_json({"conditions": conditions, "broken": list(checked.broken)})
    else:
        show(make_conditions_text(checked.conditions))
    return Exit.INVALID if checked.broken else Exit.OK


def make_conditions_text(conditions: Iterable["Condition"]) -> str:
    """A row a condition, with a mark and the word."""
    rows = []
    for condition in conditions:
        result, text = "✓ holds", condition.text
        if not condition.holds:
            example = f", such as {condition.example}" if condition.example else ""
            violate = "row violates" if condition.violations == 1 else "rows violate"
            result = "✗ BROKEN"
            text = f"{text} — {condition.violations} {violate} it{example}"
        took = format_time_text(condition.duration_s)
        rows.append([f"{condition.number}", result, took, text])
    return make_table(["condition", "result", "time", "what must hold"], rows, "><<<")


COMMAND = check
